import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { GetTaskTimelineResponseSchema, TaskService } from "../../../../gen/baton/admin/v1/task_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { durationText } from "../../operator-text.ts";
import { note, printResult, table } from "../../output.ts";
import { timeText } from "../../push-text.ts";
import { stateWord } from "../../task-text.ts";
import { wholeNumber } from "../../values.ts";

interface TimelineOptions extends AdminOptions {
  readonly agent?: string;
  readonly limit?: number;
}

export function taskTimelineCommand(): Command {
  return withAdminOptions(new Command("timeline"))
    .description("Tell what happened to a task, who did it and when, its pushes included (for operators).")
    .argument("<id>", "the task")
    .option("--agent <name>", "the agent (default: the default agent)")
    .option("--limit <n>", "how many entries at most, the latest (default: 500)", wholeNumber(1, 2000))
    .action(async (id: string, options: TimelineOptions) => {
      const request = { agent: options.agent ?? "", id, limit: options.limit ?? 0 };
      const answer = await withAdminService(TaskService, options, (client) =>
        client.getTaskTimeline(request),
      );
      const rows = answer.entries.map(({ time, sincePrevious, state, summary }) => [
        timeText(time),
        sincePrevious === undefined ? "" : `+${durationText(sincePrevious)}`,
        state === 0 ? "" : stateWord(state),
        summary,
      ]);
      printResult(options.json, toJson(GetTaskTimelineResponseSchema, answer), () =>
        table([["TIME", "AFTER", "STATE", "WHAT"], ...rows]),
      );
      if (answer.truncated) note("Earlier entries are left out.");
    });
}
