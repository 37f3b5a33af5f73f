import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { RetryTodoResponseSchema, TodoService } from "../../../../gen/baton/admin/v1/todo_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { printResult } from "../../output.ts";

interface RetryOptions extends AdminOptions {
  readonly agent?: string;
}

export function todoRetryCommand(): Command {
  return withAdminOptions(new Command("retry"))
    .description("Make a todo that failed for good claimable again, with a fresh budget of attempts.")
    .argument("<id>", "the todo")
    .option("--agent <name>", "the agent; default: the default agent")
    .action(async (id: string, options: RetryOptions) => {
      const request = { agent: options.agent ?? "", id };
      const answer = await withAdminService(TodoService, options, (client) => client.retryTodo(request));
      printResult(
        options.json,
        toJson(RetryTodoResponseSchema, answer),
        () => `${answer.id} waits in the queue ${answer.queue}.`,
      );
    });
}
