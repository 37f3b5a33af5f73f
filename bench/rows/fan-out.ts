/** One task that thousands watch, against a bare `node:http` server that writes one buffer to as many responses. */
import { setTimeout as sleep } from "node:timers/promises";
import { Program } from "../processes.ts";
import type { Collection, Memory } from "../program.ts";
import { startBenchRedis } from "../redis.ts";
import { sendTask } from "../send.ts";
import { type Bench, bound, compare, type Result, type Row, type Series } from "./row.ts";
import { type Use, withUse } from "./use.ts";

const STREAMS = [1000, 10_000];
const MOST_KIB = 24;
/** The server has compiled its code and filled its pools before its memory is looked at. */
const WARM_STREAMS = 100;

interface Side {
  readonly name: string;
  readonly server: Program;
  readonly load: Program;
  readonly subject: object;
}

async function startBaton(redisUrl: string): Promise<Side> {
  const server = await Program.start("server", "./servers/baton.ts", { redis: { url: redisUrl } });
  const { port } = server.about as { port: number };
  const credential = await server.call<string>("vend");
  const worker = await server.call<string>("vendWorker");
  const taskId = await sendTask(port, "/", credential);
  const load = await Program.start("load", "./load/fan-out.ts");
  return { name: "Baton", server, load, subject: { port, baton: { credential, worker, taskId } } };
}

async function startRaw(): Promise<Side> {
  const server = await Program.start("server", "./servers/raw-sse.ts");
  const load = await Program.start("load", "./load/fan-out.ts");
  return { name: "raw SSE", server, load, subject: server.about as object };
}

/** Opens the streams of one side; answers the memory that the server had before. */
async function open({ server, load, subject }: Side, count: number, seconds: number): Promise<number> {
  await load.call("open", { ...subject, count: Math.min(WARM_STREAMS, count) });
  await load.call("run", seconds);
  await load.call("close");
  await sleep(300);
  const { rss } = await server.call<Memory>("memory", "all");
  await load.call("open", { ...subject, count });
  return rss;
}

async function measure(bench: Bench, count: number): Promise<Result[]> {
  const { seconds, rounds } = bench.sizes;
  const redis = await startBenchRedis();
  const sides = [await startBaton(redis.url), await startRaw()];
  try {
    const before: number[] = [];
    const ran = sides.map((): Series & { values: number[]; uses: Use[] } => ({ values: [], uses: [] }));
    const peaks = [0, 0];
    const kibOf = async (index: number, collect: Collection) => {
      const rss = (await sides[index]?.server.call<Memory>("memory", collect))?.rss ?? 0;
      return (rss - (before[index] ?? 0)) / count / 1024;
    };
    const look = async (index: number) => {
      peaks[index] = Math.max(peaks[index] ?? 0, await kibOf(index, "nothing"));
    };
    for (const [index, side] of sides.entries()) {
      before.push(await open(side, count, Math.min(1, seconds)));
      bench.say(`${count} streams are open at ${side.name}`);
      await side.load.call("run", Math.min(1, seconds));
      await look(index);
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, side] of sides.entries()) {
        const work = () => side.load.call<number>("run", seconds);
        const { result: perSecond, uses } = await withUse([side.server], () =>
          index === 0 ? bench.watch(side.server, work) : work(),
        );
        ran[index]?.values.push(perSecond);
        ran[index]?.uses.push(...uses);
        await look(index);
        bench.say(`fan-out to ${count}: ${side.name} ${perSecond.toFixed(0)} deliveries/s`);
      }
    }
    // What streams hold, before and after without what nobody holds any more. They are still open.
    const held = [await kibOf(0, "all"), await kibOf(1, "all")];
    const [ours, theirs] = ran;
    if (ours === undefined || theirs === undefined) throw new Error("a side is missing");
    const streams = `${count.toLocaleString("en")} streams`;
    return [
      compare({
        name: `fan-out on one task, ${streams}`,
        unit: "deliveries/s",
        peerName: "raw SSE",
        atLeast: 0.8,
        ours,
        theirs,
      }),
      bound({
        name: `memory of a stream, ${streams}`,
        unit: "KiB",
        atMost: MOST_KIB,
        values: [held[0] ?? Number.NaN],
        peer: { name: "raw SSE", value: held[1] ?? Number.NaN },
        also: { peakKiB: peaks[0] ?? Number.NaN, peerPeakKiB: peaks[1] ?? Number.NaN },
      }),
    ];
  } finally {
    for (const { load, server } of sides) {
      await load.stop();
      await server.stop();
    }
    await redis.stop();
  }
}

function fanOut(count: number): Row {
  return {
    id: `fan-out-${count}`,
    run: (bench) => measure(bench, Math.max(20, Math.round(count * Math.min(1, bench.sizes.scale)))),
  };
}

export const FAN_OUT_ROWS: readonly Row[] = STREAMS.map(fanOut);
