import { toJson } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Command } from "commander";
import {
  type HeldTodo,
  ListWorkersResponseSchema,
  QueueService,
} from "../../../gen/baton/admin/v1/queue_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../admin-options.ts";
import { ageText, spanText } from "../operator-text.ts";
import { printResult, table } from "../output.ts";

interface ListOptions extends AdminOptions {
  readonly agent?: string;
  readonly queue?: string;
}

export function workerListCommand(): Command {
  return withAdminOptions(new Command("list"))
    .description("List who works, and what each holds until when (for operators).")
    .option("--agent <name>", "only this agent's (default: all)")
    .option("--queue <name>", "only those of a queue")
    .action(async (options: ListOptions) => {
      const request = { agent: options.agent ?? "", queue: options.queue ?? "" };
      const answer = await withAdminService(QueueService, options, (client) => client.listWorkers(request));
      const now = Date.now();
      const rows = answer.workers.map((worker) => [
        worker.name || "(no name)",
        worker.endpointName || worker.endpointId,
        worker.agent,
        worker.queues.join(","),
        ageText(worker.lastSeenAt, now),
        String(worker.held),
        worker.todos.map((todo) => heldText(todo, now)).join(", "),
      ]);
      printResult(options.json, toJson(ListWorkersResponseSchema, answer), () =>
        rows.length === 0
          ? "Nobody works here."
          : table([["WORKER", "ENDPOINT", "AGENT", "QUEUES", "SEEN AGO", "HOLDS", "TODOS"], ...rows]),
      );
    });
}

/** While a todo waits for its client its lease stands still. */
function heldText({ id, state, leaseExpiresAt }: HeldTodo, now: number): string {
  if (state !== "claimed" || leaseExpiresAt === undefined) return `${id} (${state})`;
  return `${id} (${spanText(timestampMs(leaseExpiresAt) - now)} left)`;
}
