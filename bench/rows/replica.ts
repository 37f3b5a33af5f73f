/** From a commit on one replica to a subscriber of another, at a steady rate. */
import type { ReplicaRound } from "../load/replica.ts";
import { Program } from "../processes.ts";
import { startBenchRedis } from "../redis.ts";
import { sendTask } from "../send.ts";
import { bound, median, type Row } from "./row.ts";

const RATE = 5000;
const MOST_MS = 10;
const TASKS = 100;
/** By then code is compiled and heaps have the size that they keep: a steady state is what is measured. */
const WARM_SECONDS = 8;

/**
 * Two gateways on one Redis. The workers' calls come to the one that has the server core; the streams are at the other,
 * which shares the second core with Redis and the load. The clock starts when a worker's call is due, so its way to
 * the commit is in the figure, and how long it had to wait to be sent.
 */
export const REPLICA_ROW: Row = {
  id: "replica",
  async run(bench) {
    const { seconds, rounds, scale } = bench.sizes;
    const rate = Math.max(100, Math.round(RATE * Math.min(1, scale)));
    const redis = await startBenchRedis();
    const config = { redis: { url: redis.url } };
    const committing = await Program.start("server", "./servers/baton.ts", config);
    const streaming = await Program.start("load", "./servers/baton.ts", config);
    const load = await Program.start("load", "./load/replica.ts");
    try {
      const credential = await committing.call<string>("vend");
      const worker = await committing.call<string>("vendWorker");
      const { port: commitPort } = committing.about as { port: number };
      const { port: streamPort } = streaming.about as { port: number };
      const taskIds: string[] = [];
      for (let i = 0; i < TASKS; i += 1) taskIds.push(await sendTask(commitPort, "/", credential));
      await load.call("open", { commitPort, streamPort, credential, worker, taskIds });
      await load.call("run", { rate, seconds: Math.min(WARM_SECONDS, 2 * seconds) });
      const found: ReplicaRound[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const work = () => load.call<ReplicaRound>("run", { rate, seconds });
        const ran = await bench.watch(committing, work);
        bench.say(
          `replica: ${ran.perSecond.toFixed(0)} events/s, p50 ${ran.p50.toFixed(2)} ms, p99 ${ran.p99.toFixed(2)} ms`,
        );
        found.push(ran);
      }
      const reached = median(found.map(({ perSecond }) => perSecond));
      const lost = found.reduce((sum, round) => sum + round.lost, 0);
      return [
        bound({
          name: `commit to a subscriber on another replica, p99 at ${rate.toLocaleString("en")} events/s`,
          unit: "ms",
          atMost: MOST_MS,
          values: found.map(({ p99 }) => p99),
          unless: lost > 0 || reached < 0.98 * rate,
          also: { p50Ms: median(found.map(({ p50 }) => p50)), eventsPerSecond: reached, lost },
        }),
      ];
    } finally {
      for (const program of [load, streaming, committing]) await program.stop();
      await redis.stop();
    }
  },
};
