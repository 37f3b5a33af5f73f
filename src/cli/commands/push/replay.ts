import { toJson } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Command } from "commander";
import { PushService, ReplayDeadLettersResponseSchema } from "../../../../gen/baton/admin/v1/push_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { printResult } from "../../output.ts";
import { pointInTime } from "../../push-text.ts";

interface ReplayOptions extends AdminOptions {
  readonly agent?: string;
  readonly since?: Timestamp;
}

export function pushReplayCommand(): Command {
  return withAdminOptions(new Command("replay"))
    .description("Send pushes again that were given up: those named, or all since a time.")
    .argument("[ids...]", "dead letters")
    .option("--agent <name>", "the agent (default: the default agent)")
    .option("--since <time>", "all given up since a time, or an age such as 2h", pointInTime)
    .action(async (ids: string[], options: ReplayOptions) => {
      const { since } = options;
      const request = { agent: options.agent ?? "", ids, ...(since === undefined ? {} : { since }) };
      const answer = await withAdminService(PushService, options, (client) =>
        client.replayDeadLetters(request),
      );
      printResult(options.json, toJson(ReplayDeadLettersResponseSchema, answer), () => {
        const refused =
          answer.refused === 0
            ? ""
            : ` ${answer.refused} stay: their config or credential is gone, or their lane is full.`;
        return `${answer.replayed} are on their way.${refused}`;
      });
    });
}
