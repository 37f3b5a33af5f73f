/** Whether the memory of a gateway grows under mixed traffic that goes on. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Traffic } from "../load/mixed.ts";
import { Program } from "../processes.ts";
import type { Memory } from "../program.ts";
import { startBenchRedis } from "../redis.ts";
import { sendTask } from "../send.ts";
import { slopeOf } from "../slope.ts";
import { percentile, type Result, type Row } from "./row.ts";

const SAMPLES = 120;
/** The first part is warm-up: code is compiled, pools and caches fill. */
const WARM_SHARE = 0.4;
const RATE = 25;
/** Growth in an hour that is no growth, as a share of the memory. */
const FLAT_SHARE = 0.02;
const ERRORS_OF_SLOPE = 3;

/**
 * What lives after a collection is what can leak, so that is judged; RSS is printed beside it. Flat: the slope is within
 * three of its standard errors, or the growth in an hour is below two percent.
 */
export const MEMORY_ROW: Row = {
  id: "memory",
  async run(bench) {
    const minutes = bench.sizes.soakMinutes;
    const redis = await startBenchRedis({ rewrites: true });
    const server = await Program.start("server", "./servers/baton.ts", { redis: { url: redis.url } });
    const load = await Program.start("load", "./load/mixed.ts");
    try {
      const { port } = server.about as { port: number };
      const credential = await server.call<string>("vend");
      const worker = await server.call<string>("vendWorker");
      const taskId = await sendTask(port, "/", credential);
      await load.call("start", { subject: { port, credential, taskId }, worker, rate: RATE });
      const samples = await bench.watch(server, () => sample(server, minutes));
      const traffic = await load.call<Traffic>("stop");
      for (const [what, count] of Object.entries(traffic.errors)) bench.say(`memory: ${count} times ${what}`);
      return [judge(samples, minutes, traffic)];
    } finally {
      await load.stop();
      await server.stop();
      await redis.stop();
    }
  },
};

interface Sample extends Memory {
  readonly minute: number;
}

async function sample(server: Program, minutes: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const started = performance.now();
  for (let i = 0; i < SAMPLES; i += 1) {
    await sleep(Math.max(0, started + ((i + 1) * minutes * 60_000) / SAMPLES - performance.now()));
    const minute = (performance.now() - started) / 60_000;
    samples.push({ minute, ...(await server.call<Memory>("memory", "garbage")) });
  }
  return samples.slice(Math.floor(SAMPLES * WARM_SHARE));
}

function judge(samples: readonly Sample[], minutes: number, { calls, errors }: Traffic): Result {
  const live = slopeOf(samples.map(({ minute, live: bytes }) => [minute, bytes / 1024]));
  const rss = slopeOf(samples.map(({ minute, rss: bytes }) => [minute, bytes / 1024]));
  const flat = live.slope <= ERRORS_OF_SLOPE * live.error || live.slope * 60 < FLAT_SHARE * live.mean;
  const sizes = samples.map(({ rss: bytes }) => bytes / 2 ** 20).sort((a, b) => a - b);
  return {
    name: `memory under mixed load, ${Number(minutes.toPrecision(2))} min`,
    value: live.slope,
    peer: null,
    ratio: null,
    target: "flat: slope within noise",
    pass: flat,
    unit: "KiB/min",
    peerName: null,
    rounds: [live.slope],
    spread: 0,
    also: {
      slopeErrorKiBPerMinute: live.error,
      liveMiB: live.mean / 1024,
      rssMiB: percentile(sizes, 0.5),
      rssSlopeKiBPerMinute: rss.slope,
      calls,
      errors: Object.values(errors).reduce((sum, count) => sum + count, 0),
    },
  };
}
