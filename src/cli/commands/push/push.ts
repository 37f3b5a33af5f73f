import { Command } from "commander";
import { pushInspectCommand } from "./inspect.ts";
import { pushListCommand } from "./list.ts";
import { pushPurgeCommand } from "./purge.ts";
import { pushReceiverCommand } from "./receiver.ts";
import { pushReplayCommand } from "./replay.ts";
import { pushStatusCommand } from "./status.ts";

export function pushCommand(): Command {
  return new Command("push")
    .description("Look at push notifications, send those again that were given up, try a receiver.")
    .addCommand(pushStatusCommand())
    .addCommand(pushListCommand())
    .addCommand(pushInspectCommand())
    .addCommand(pushReplayCommand())
    .addCommand(pushPurgeCommand())
    .addCommand(pushReceiverCommand());
}
