import { toJson } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Command } from "commander";
import { ListDeadLettersResponseSchema, PushService } from "../../../../gen/baton/admin/v1/push_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { printResult, table } from "../../output.ts";
import { failureText, pointInTime, timeText } from "../../push-text.ts";
import { wholeNumber } from "../../values.ts";

interface ListOptions extends AdminOptions {
  readonly agent?: string;
  readonly task?: string;
  readonly since?: Timestamp;
  readonly limit: number;
}

export function pushListCommand(): Command {
  return withAdminOptions(new Command("list"))
    .description("List pushes that were given up (dead letters), the newest first.")
    .option("--agent <name>", "the agent (default: the default agent)")
    .option("--task <id>", "only those of a task")
    .option("--since <time>", "only those given up since a time, or an age such as 2h", pointInTime)
    .option("--limit <n>", "how many at most", wholeNumber(1, 1000), 100)
    .action(async (options: ListOptions) => {
      const request = {
        agent: options.agent ?? "",
        taskId: options.task ?? "",
        limit: options.limit,
        ...(options.since === undefined ? {} : { since: options.since }),
      };
      const answer = await withAdminService(PushService, options, (client) =>
        client.listDeadLetters(request),
      );
      const rows = answer.deadLetters.map((letter) => [
        letter.id,
        letter.taskId,
        String(letter.sequence),
        letter.host,
        failureText(letter.failure),
        String(letter.attempts),
        timeText(letter.deadAt),
      ]);
      printResult(options.json, toJson(ListDeadLettersResponseSchema, answer), () =>
        table([["DEAD LETTER", "TASK", "EVENT", "HOST", "REASON", "ATTEMPTS", "GIVEN UP"], ...rows]),
      );
    });
}
