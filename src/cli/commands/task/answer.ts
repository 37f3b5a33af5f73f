import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { Command, InvalidArgumentError } from "commander";
import { TaskService } from "../../../../gen/baton/admin/v1/task_pb.js";
import { TaskSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { printResult } from "../../output.ts";
import { taskText } from "../../task-text.ts";
import { jsonValue } from "../../values.ts";

interface AnswerOptions extends AdminOptions {
  readonly agent?: string;
  readonly action?: string;
  readonly metadata?: JsonObject;
}

export function taskAnswerCommand(): Command {
  return withAdminOptions(new Command("answer"))
    .description("Answer a task that waits for a person, in the operator's name (for operators).")
    .argument("<id>", "the task")
    .argument("<text>", "the answer")
    .option("--agent <name>", "the agent (default: the default agent)")
    .option("--action <word>", "what to do about an approval of a host, such as accept or reject")
    .option("--metadata <json>", "metadata of the message", object)
    .action(async (id: string, text: string, options: AnswerOptions) => {
      const { agent = "", action } = options;
      const chosen = action === undefined ? {} : { openwop: { action } };
      const request = { agent, id, text, metadata: { ...options.metadata, ...chosen } };
      const { task } = await withAdminService(TaskService, options, (client) => client.replyToTask(request));
      if (task !== undefined) printResult(options.json, toJson(TaskSchema, task), () => taskText(task));
    });
}

function object(text: string): JsonObject {
  const value = jsonValue(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new InvalidArgumentError("Give a JSON object.");
}
