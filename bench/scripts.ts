/**
 * What the scripts of the store cost Redis, without a gateway: todos live a whole life through the store's own classes,
 * one step of it at a time, and Redis says what a call of the step took.
 *
 *   node bench/scripts.ts [--count 4000] [--rounds 3] [--json]
 *
 * The times are Redis' own (INFO commandstats) and hold nothing of the client or the wire.
 */
import { parseArgs } from "node:util";
import { connectRedis } from "../src/store/connect-redis.ts";
import { TaskStore } from "../src/store/tasks.ts";
import { TodoStore } from "../src/store/todos.ts";
import { commandCosts, type PhaseCost } from "./command-costs.ts";
import { pin } from "./processes.ts";
import { startBenchRedis } from "./redis.ts";
import { columns, short } from "./report/table.ts";
import { TodoLife } from "./todo-life.ts";

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "4000" },
    rounds: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
  },
});
const count = Number(values.count);
const rounds = Number(values.rounds);

pin(process.pid, "server");
const server = await startBenchRedis();
const redis = await connectRedis({ target: { kind: "socket", path: server.socketPath } });
const life = new TodoLife(new TodoStore(redis), new TaskStore(redis));
// Compiles the scripts, and the paths here.
await life.live(200, (_, work) => work());

const found = new Map<string, PhaseCost[]>();
for (let round = 0; round < rounds; round += 1) {
  await life.live(count, async (phase, work) => {
    const cost = await commandCosts(server.socketPath, work);
    found.set(phase, [...(found.get(phase) ?? []), cost]);
  });
}
await redis.close();
await server.stop();

const middle = (costs: readonly PhaseCost[]): PhaseCost => {
  const sorted = costs.toSorted((a, b) => a.microseconds - b.microseconds);
  return sorted[Math.floor(sorted.length / 2)] as PhaseCost;
};
const rows = [...found].map(([script, costs]) => ({ script, ...middle(costs) }));
if (values.json) {
  console.log(JSON.stringify({ rows }));
} else {
  const cells = rows.map((row) => [
    row.script,
    short(row.microseconds),
    short(row.inner),
    short(row.commands),
    row.dearest.map(({ name, microseconds }) => `${name} ${short(microseconds)}`).join(", "),
  ]);
  const heads = [
    "script",
    "us a call",
    "of it commands",
    "commands",
    "dearest commands, us a call of the script",
  ];
  process.stdout.write(columns([heads, ...cells]));
}
