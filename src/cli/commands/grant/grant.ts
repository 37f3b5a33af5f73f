import { Command } from "commander";
import { grantApproveCommand } from "./approve.ts";
import { grantDeleteCommand, grantDenyCommand } from "./deny.ts";
import { grantListCommand } from "./list.ts";
import { grantReissueCommand } from "./reissue.ts";
import { grantRevokeCommand } from "./revoke.ts";
import { grantShowCommand } from "./show.ts";

export function grantCommand(): Command {
  return new Command("grant")
    .description("Decide on friend requests: who outside may hand work to an agent.")
    .addCommand(grantListCommand())
    .addCommand(grantShowCommand())
    .addCommand(grantApproveCommand())
    .addCommand(grantDenyCommand())
    .addCommand(grantRevokeCommand())
    .addCommand(grantReissueCommand())
    .addCommand(grantDeleteCommand());
}
