/** The first page of ListTasks with very many tasks against the same with few. */
import { Program } from "../processes.ts";
import { startBenchRedis } from "../redis.ts";
import { compare, type Row } from "./row.ts";
import { alsoOf, alternate, type Side } from "./unary.ts";

const FEW = 1000;
const MANY = 1_000_000;
/** As many times more rounds than in other rows, each that much shorter: what disturbs one disturbs its neighbour too. */
const FINER = 5;

/**
 * Two agents on one gateway and one Redis, each with an endpoint whose tasks are listed. The tasks are made by the
 * store's own `create` (bench/load/fill.ts), so that records, indexes and logs are those of real sends. What is compared
 * is the median time of a call, one after another.
 */
export const LIST_ROW: Row = {
  id: "list-tasks",
  async run(bench) {
    const many = Math.max(FEW, Math.round(MANY * bench.sizes.scale));
    const redis = await startBenchRedis();
    const server = await Program.start("server", "./servers/baton.ts", {
      redis: { url: redis.url },
      agents: { few: {}, many: {} },
      defaultAgent: "few",
      retention: { maxTasks: 2 * MANY },
    });
    const fill = await Program.start("server", "./load/fill.ts", { socketPath: redis.socketPath });
    const load = await Program.start("load", "./load/main.ts");
    try {
      const sides: Side[] = [];
      for (const [agent, count] of Object.entries({ many, few: FEW })) {
        const credential = await server.call<string>("vend", { agent });
        bench.say(`making ${count} tasks`);
        const lastId = await fill.call<string>("fill", { agent, credential, count });
        const { port } = server.about as { port: number };
        sides.push({ name: `${count} tasks`, server, subject: { port, credential, taskId: lastId } });
      }
      const { seconds, rounds } = bench.sizes;
      const sizes = { ...bench.sizes, seconds: seconds / FINER, rounds: rounds * FINER };
      const [ours, theirs] = await alternate(
        { ...bench, sizes },
        { load, redis },
        "grpc ListTasks",
        sides,
        1,
      );
      if (ours === undefined || theirs === undefined) throw new Error("a side is missing");
      return [
        compare({
          name: `ListTasks, first page, at ${many.toLocaleString("en")} tasks`,
          unit: "ms",
          peerName: `${FEW.toLocaleString("en")} tasks`,
          atMost: 1.3,
          ours: { values: ours.p50 },
          theirs: { values: theirs.p50 },
          also: alsoOf(ours),
        }),
      ];
    } finally {
      for (const program of [load, fill, server]) await program.stop();
      await redis.stop();
    }
  },
};
