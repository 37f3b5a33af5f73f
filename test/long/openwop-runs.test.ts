/** Many runs followed by one process: what it costs (OW-10). `RUNS` says how many, 2,000 if it says nothing. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type GatewayProcess,
  type HostProcess,
  startGatewayProcess,
  startHostProcess,
} from "../openwop/processes.ts";
import { eventually, type Json, RpcClient, sleep } from "../openwop/rpc.ts";
import { openwopAgent } from "../openwop/setup.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";

const RUNS = Number(process.env.RUNS ?? 2000);

let redis: TestRedis;
let host: HostProcess;
let gateway: GatewayProcess;

beforeAll(async () => {
  redis = await startTestRedis();
  host = await startHostProcess();
  gateway = await startGatewayProcess({
    agents: {
      slow: openwopAgent(host.url, "slow", {
        followers: { leaseSeconds: 15, tickSeconds: 1, pollSeconds: 2, pollCapSeconds: 15 },
      }),
    },
    defaultAgent: "slow",
    redis: { url: redis.server.url },
  });
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  await host.stop();
  await redis.stop();
});

/** RSS in MiB, open sockets, and processor time in seconds, of the gateway. */
function usage(): { rss: number; sockets: number; cpu: number } {
  const status = readFileSync(`/proc/${gateway.pid}/status`, "utf8");
  const stat = readFileSync(`/proc/${gateway.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const folder = `/proc/${gateway.pid}/fd`;
  const sockets = readdirSync(folder).filter((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`).startsWith("socket:");
    } catch {
      return false;
    }
  }).length;
  return {
    rss: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024,
    sockets,
    cpu: (Number(stat[11]) + Number(stat[12])) / 100,
  };
}

async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const one = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: width }, one));
}

it(`one process follows ${RUNS} runs at once with bounded memory and sockets`, async () => {
  const client = new RpcClient(gateway.url, await gateway.vend("slow"));
  await client.start("warm", { configuration: { returnImmediately: true } });
  const before = usage();
  const ids: string[] = [];
  const began = Date.now();
  await inParallel(
    Array.from({ length: RUNS }, (_, index) => index),
    20,
    async (index) => {
      ids.push((await client.start(`${index}`, { configuration: { returnImmediately: true } })).id);
    },
  );
  const startedIn = Date.now() - began;
  await sleep(5000);
  const settled = usage();
  await sleep(20_000);
  const idle = usage();
  const { streams } = await host.control("state");
  const ending = Date.now();
  await inParallel(ids, 8, async (runId) => {
    await host.control("advance", { runId });
  });
  let open = RUNS;
  await eventually(
    async () => {
      open = (await client.call("ListTasks", { status: "TASK_STATE_WORKING", pageSize: 1 })).result.totalSize;
      return open <= 1;
    },
    "all have ended",
    120_000,
  );
  const endedIn = Date.now() - ending;
  await sleep(5000);
  const after = usage();
  const figures: Json = {
    runs: RUNS,
    streams,
    startedInMs: startedIn,
    rssBefore: Math.round(before.rss),
    rssFollowing: Math.round(idle.rss),
    socketsFollowing: idle.sockets,
    idleCpuShare: Number(((idle.cpu - settled.cpu) / 20).toFixed(3)),
    endedInMs: endedIn,
    rssAfter: Math.round(after.rss),
    socketsAfter: after.sockets,
  };
  console.log(JSON.stringify(figures));
  expect(streams).toBeLessThanOrEqual(512);
  expect(idle.sockets).toBeLessThan(700);
  expect(idle.rss - before.rss).toBeLessThan(400);
  expect(after.sockets).toBeLessThan(120);
}, 400_000);
