/** Todos that are claimed and completed through the gateway against jobs of BullMQ that do nothing. */
import { Program } from "../processes.ts";
import { startBenchRedis } from "../redis.ts";
import { compare, type Row } from "./row.ts";
import { type Use, withUse } from "./use.ts";

const JOBS_PER_SECOND = 4000;
const CONCURRENCY = 100;

/**
 * Each side drains a queue that was filled before. Baton: the gateway has the server core, the worker is with the load.
 * BullMQ: its worker, which is all there is of it besides Redis, has the server core.
 */
export const CLAIM_ROW: Row = {
  id: "claim",
  async run(bench) {
    const { seconds, rounds } = bench.sizes;
    const count = Math.round(JOBS_PER_SECOND * seconds);
    const redis = await startBenchRedis();
    const gateway = await Program.start("server", "./servers/baton.ts", { redis: { url: redis.url } });
    const bullmq = await Program.start("server", "./servers/bullmq.ts", { socketPath: redis.socketPath });
    const fill = await Program.start("load", "./load/fill.ts", { socketPath: redis.socketPath });
    const load = await Program.start("load", "./load/claims.ts");
    try {
      const { port } = gateway.about as { port: number };
      const sender = await gateway.call<string>("vend");
      const worker = await gateway.call<string>("vendWorker");
      const sides = [
        async () => {
          await fill.call("fill", { agent: "default", credential: sender, count });
          const order = { port, credential: worker, concurrency: CONCURRENCY, count };
          const drain = () => load.call<number>("drain", order);
          return withUse([gateway], () => bench.watch(gateway, drain));
        },
        async () => {
          await bullmq.call("fill", count);
          return withUse([bullmq], () => bullmq.call<number>("drain", { count, concurrency: CONCURRENCY }));
        },
      ];
      const ours = { values: [] as number[], uses: [] as Use[] };
      const theirs = { values: [] as number[], uses: [] as Use[] };
      for (let round = 0; round < rounds; round += 1) {
        for (const [index, side] of sides.entries()) {
          const { result: perSecond, uses } = await side();
          const own = index === 0 ? ours : theirs;
          own.values.push(perSecond);
          own.uses.push(...uses);
          bench.say(`claim to complete: ${index === 0 ? "Baton" : "BullMQ"} ${perSecond.toFixed(0)}/s`);
        }
      }
      return [
        compare({
          name: "claim to complete",
          unit: "todos/s",
          peerName: "BullMQ no-op",
          atLeast: 1,
          ours,
          theirs,
        }),
      ];
    } finally {
      for (const program of [load, fill, bullmq, gateway]) await program.stop();
      await redis.stop();
    }
  },
};
