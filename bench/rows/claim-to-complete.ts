/** Todos that are claimed and completed through the gateway against jobs of BullMQ that do nothing. */
import { Program } from "../processes.ts";
import { startBenchRedis } from "../redis.ts";
import { compare, type Row } from "./row.ts";

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
          return bench.watch(gateway, () => timed(gateway, count, () => load.call("drain", order)));
        },
        async () => {
          await bullmq.call("fill", count);
          return timed(bullmq, count, () => bullmq.call("drain", { count, concurrency: CONCURRENCY }));
        },
      ];
      const values: number[][] = [[], []];
      const busy: number[][] = [[], []];
      for (let round = 0; round < rounds; round += 1) {
        for (const [index, side] of sides.entries()) {
          const { perSecond, share } = await side();
          values[index]?.push(perSecond);
          busy[index]?.push(share);
          bench.say(`claim to complete: ${index === 0 ? "Baton" : "BullMQ"} ${perSecond.toFixed(0)}/s`);
        }
      }
      return [
        compare({
          name: "claim to complete",
          unit: "todos/s",
          peerName: "BullMQ no-op",
          atLeast: 1,
          ours: { values: values[0] ?? [], busy: busy[0] ?? [] },
          theirs: { values: values[1] ?? [], busy: busy[1] ?? [] },
        }),
      ];
    } finally {
      for (const program of [load, fill, bullmq, gateway]) await program.stop();
      await redis.stop();
    }
  },
};

/** Works `count` off, and tells how much of its core the program used meanwhile. */
async function timed(
  program: Program,
  count: number,
  work: () => Promise<number>,
): Promise<{ readonly perSecond: number; readonly share: number }> {
  const before = await program.call<number>("cpu");
  const perSecond = await work();
  const used = (await program.call<number>("cpu")) - before;
  return { perSecond, share: used / (count / perSecond) };
}
