import { toJson } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Command } from "commander";
import { PurgeDeadLettersResponseSchema, PushService } from "../../../../gen/baton/admin/v1/push_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { printResult } from "../../output.ts";
import { pointInTime } from "../../push-text.ts";

interface PurgeOptions extends AdminOptions {
  readonly agent?: string;
  readonly since?: Timestamp;
}

export function pushPurgeCommand(): Command {
  return withAdminOptions(new Command("purge"))
    .description("Remove pushes that were given up, for good: those named, or all since a time.")
    .argument("[ids...]", "dead letters")
    .option("--agent <name>", "the agent (default: the default agent)")
    .option("--since <time>", "all given up since a time, or an age such as 30d", pointInTime)
    .action(async (ids: string[], options: PurgeOptions) => {
      const { since } = options;
      const request = { agent: options.agent ?? "", ids, ...(since === undefined ? {} : { since }) };
      const answer = await withAdminService(PushService, options, (client) =>
        client.purgeDeadLetters(request),
      );
      printResult(
        options.json,
        toJson(PurgeDeadLettersResponseSchema, answer),
        () => `${answer.purged} are removed.`,
      );
    });
}
