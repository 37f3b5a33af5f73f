import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { ListQueuesResponseSchema, QueueService } from "../../../../gen/baton/admin/v1/queue_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { ageText } from "../../operator-text.ts";
import { printResult, table } from "../../output.ts";

interface ListOptions extends AdminOptions {
  readonly agent?: string;
}

const HEAD = ["AGENT", "QUEUE", "READY", "OLDEST", "DELAYED", "LEASED", "WAITING", "DEAD", "WORKERS"];

export function queueListCommand(): Command {
  return withAdminOptions(new Command("list"))
    .description("List queues: what waits in them and since when, and how many work on them.")
    .option("--agent <name>", "only this agent's (default: all)")
    .action(async (options: ListOptions) => {
      const request = { agent: options.agent ?? "" };
      const answer = await withAdminService(QueueService, options, (client) => client.listQueues(request));
      const now = Date.now();
      const rows = answer.queues.map(({ agent, name, depth, oldestReadyAt, workers }) => [
        agent,
        name,
        String(depth?.ready ?? 0n),
        ageText(oldestReadyAt, now),
        ...[depth?.delayed, depth?.leased, depth?.waiting, depth?.dead].map((count) => String(count ?? 0n)),
        String(workers),
      ]);
      printResult(options.json, toJson(ListQueuesResponseSchema, answer), () => table([HEAD, ...rows]));
    });
}
