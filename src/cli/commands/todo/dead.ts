import { toJson } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Command } from "commander";
import { ListDeadTodosResponseSchema, TodoService } from "../../../../gen/baton/admin/v1/todo_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { printResult, table } from "../../output.ts";
import { wholeNumber } from "../../values.ts";

interface DeadOptions extends AdminOptions {
  readonly agent?: string;
  readonly queue?: string;
  readonly limit?: number;
}

export function todoDeadCommand(): Command {
  return withAdminOptions(new Command("dead"))
    .description("List the todos that failed for good, the latest first.")
    .option("--agent <name>", "the agent; default: the default agent")
    .option("--queue <name>", "only those of a queue")
    .option("--limit <n>", "how many at most; default: 100", wholeNumber(1, 500))
    .action(async (options: DeadOptions) => {
      const request = {
        agent: options.agent ?? "",
        queue: options.queue ?? "",
        limit: options.limit ?? 0,
      };
      const answer = await withAdminService(TodoService, options, (client) => client.listDeadTodos(request));
      const rows = answer.todos.map(({ id, queue, attempts, diedAt, reason, title }) => [
        id,
        queue,
        String(attempts),
        diedAt === undefined ? "" : timestampDate(diedAt).toISOString(),
        reason,
        title,
      ]);
      printResult(options.json, toJson(ListDeadTodosResponseSchema, answer), () =>
        rows.length === 0
          ? "No todo is dead."
          : table([["TODO", "QUEUE", "ATTEMPTS", "DIED", "REASON", "TITLE"], ...rows]),
      );
    });
}
