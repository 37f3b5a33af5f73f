import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { GetTaskResponseSchema, TaskService } from "../../../../gen/baton/admin/v1/task_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { factsText } from "../../operator-text.ts";
import { printResult } from "../../output.ts";

interface InspectOptions extends AdminOptions {
  readonly agent?: string;
}

export function taskInspectCommand(): Command {
  return withAdminOptions(new Command("inspect"))
    .description(
      "Show where a task is and why: queue, attempt, who holds it, what it waits for (for operators).",
    )
    .argument("<id>", "the task")
    .option("--agent <name>", "the agent (default: the default agent)")
    .action(async (id: string, options: InspectOptions) => {
      const request = { agent: options.agent ?? "", id };
      const answer = await withAdminService(TaskService, options, (client) => client.getTask(request));
      printResult(options.json, toJson(GetTaskResponseSchema, answer), () => factsText(answer));
    });
}
