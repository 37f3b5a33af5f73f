/**
 * Two replicas behind a balancer are restarted one after another, with SIGTERM, under load and with streams open. A slice
 * runs with all tests; `npm run proof:rolling` runs the whole: 200 calls/s, 500 streams, three rounds.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { portsOf, type ServeProcess, startServe } from "../cli/processes.ts";
import { createVendor } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { TestWorker, workerTransport } from "../scenarios/actors.ts";
import type { DriverKind } from "../scenarios/driver.ts";
import { connectDriver, grpcByConnectDriver, repeated } from "../scenarios/drivers/connect-client.ts";
import { grpcDriver } from "../scenarios/drivers/grpc.ts";
import { jsonRpcDriver } from "../scenarios/drivers/jsonrpc.ts";
import { Balancer } from "./rolling/balancer.ts";
import { Calls, type NamedDriver } from "./rolling/calls.ts";
import { Follower } from "./rolling/follower.ts";

const FULL = process.env.BATON_PROOF === "full";
const ROUNDS = FULL ? 3 : 1;
const PER_SECOND = FULL ? 200 : 50;
const TASKS = FULL ? 100 : 10;
const STREAMS_OF_TASK = 5;
/** Every task gets a chunk that often, in milliseconds. */
const CHUNK_MS = FULL ? 2000 : 500;
/** Between a restart and the next, so that clients come to the new process. */
const SETTLE_MS = FULL ? 5000 : 1000;

const ADMIN_TOKEN = "admin-token-for-tests-only";
const bucket = { perSecond: 100_000, burst: 100_000 };
const CONFIG = {
  limits: { perAddress: bucket, perEndpoint: bucket, send: bucket },
  streams: { perEndpoint: 2000 },
  drain: { delaySeconds: FULL ? 3 : 2 },
};

let folder: string;
let redis: TestRedis;
let replicas: Map<string, ServeProcess>;
let balancer: Balancer;

const start = (name: string, ports?: ReturnType<typeof portsOf>) =>
  startServe(join(folder, name), {
    cwd: folder,
    env: { BATON_ADMIN_TOKEN: ADMIN_TOKEN, BATON_REDIS_URL: redis.server.url },
    ...(ports === undefined ? {} : { ports }),
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-rolling-"));
  await writeFile(join(folder, "baton.yaml"), JSON.stringify(CONFIG));
  redis = await startTestRedis();
  replicas = new Map();
  for (const name of ["one", "two"]) replicas.set(name, await start(name));
  balancer = await Balancer.start(
    [...replicas].map(([name, serve]) => ({
      name,
      port: Number(portsOf(serve).main),
      adminUrl: serve.adminUrl,
    })),
    { periodMs: 250, failures: 2 },
  );
  for (const name of replicas.keys()) await balancer.untilReady(name);
});
afterAll(async () => {
  balancer?.close();
  for (const serve of replicas?.values() ?? []) await serve.end("SIGKILL");
  await redis?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** A client of its own connections, with what its library does by itself and no more. */
async function connect(kind: DriverKind): Promise<NamedDriver> {
  const driver = await kind.connect({
    url: balancer.url,
    authority: new URL(balancer.url).host,
    channel: {
      "grpc.enable_retries": 1,
      "grpc.use_local_subchannel_pool": 1,
      "grpc.keepalive_time_ms": 10_000,
    },
  });
  return { name: kind.name, driver };
}

const connectAll = (kinds: readonly DriverKind[]) => Promise.all(kinds.map(connect));

it(
  `G1 H14 ${PER_SECOND} calls/s and ${TASKS * STREAMS_OF_TASK} streams over ${2 * ROUNDS} restarts: no call fails, no event is lost or comes twice`,
  async () => {
    const [first] = replicas.values();
    if (first === undefined) throw new Error("no replica");
    const vendor = createVendor(first.adminUrl, ADMIN_TOKEN);
    const token = await vendor.vend();
    const worker = new TestWorker(workerTransport(balancer.url, await vendor.vendWorker()));

    const callers = await connectAll([
      grpcDriver,
      grpcByConnectDriver,
      jsonRpcDriver,
      grpcDriver,
      grpcByConnectDriver,
      connectDriver,
    ]);
    const watchers = await connectAll([
      grpcDriver,
      grpcByConnectDriver,
      jsonRpcDriver,
      grpcDriver,
      grpcByConnectDriver,
      grpcDriver,
    ]);

    const followers: Follower[] = [];
    const watcher = () => watchers[followers.length % watchers.length] as NamedDriver;
    const tasks: string[] = [];
    for (let task = 0; task < TASKS; task += 1) {
      const sender = await Follower.open(watcher(), token);
      followers.push(sender);
      tasks.push(sender.id);
      for (let more = 1; more < STREAMS_OF_TASK; more += 1) {
        followers.push(await Follower.open(watcher(), token, sender.id));
      }
    }
    const following = Promise.all(followers.map((follower) => follower.follow()));

    for (const id of tasks) await worker.claim(id);
    const chunks = new Map(tasks.map((id) => [id, 0]));
    const workFailures: string[] = [];
    let working = true;
    const work = tasks.map(async (id, index) => {
      await sleep((index / TASKS) * CHUNK_MS);
      while (working) {
        const due = performance.now() + CHUNK_MS;
        const number = (chunks.get(id) ?? 0) + 1;
        try {
          await worker.artifact(
            id,
            { artifactId: "out", parts: [{ text: String(number) }] },
            { append: number > 1 },
          );
          chunks.set(id, number);
        } catch (error) {
          workFailures.push(`AddArtifact: ${error}`);
        }
        await sleep(Math.max(0, due - performance.now()));
      }
    });
    const calls = new Calls({ clients: callers, token, perSecond: PER_SECOND, firstId: tasks[0] ?? "" });

    const restarts: { name: string; exitCode: number | null; endedInMs: number }[] = [];
    await sleep(SETTLE_MS);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [name, serve] of replicas) {
        const begun = performance.now();
        const exitCode = await serve.end("SIGTERM");
        restarts.push({ name, exitCode, endedInMs: Math.round(performance.now() - begun) });
        replicas.set(name, await start(name, portsOf(serve)));
        await balancer.untilReady(name);
        await sleep(SETTLE_MS);
      }
    }
    working = false;
    await Promise.all(work);
    const { failures, ...unary } = await calls.stop();
    for (const id of tasks) await worker.complete(id);
    await Promise.race([following, sleep(30_000)]);
    for (const follower of followers) follower.stop();

    const sum = (pick: (follower: Follower) => number) =>
      followers.reduce((total, follower) => total + pick(follower), 0);
    const events = sum(({ events }) => [...events.values()].reduce((all, count) => all + count, 0));
    const wanted = followers.reduce((all, { id }) => all + (chunks.get(id) ?? 0) + 2, 0);
    const report = {
      unary: { ...unary, failed: failures.length, refusedAndRepeatedByConnect: repeated.count },
      work: {
        calls: [...chunks.values()].reduce((all, count) => all + count, 0),
        failed: workFailures.length,
      },
      streams: {
        open: followers.length,
        events,
        wanted,
        lost: sum(({ lost }) => lost),
        duplicated: sum(({ duplicated }) => duplicated),
        silentEnds: sum(({ silentEnds }) => silentEnds),
        reattached: sum(({ reattached }) => reattached),
        refusedTries: sum(({ refused }) => refused),
        longestGapMs: Math.round(Math.max(...followers.map(({ longestGap }) => longestGap))),
      },
      connections: { ...balancer.given, refused: balancer.refused.length },
      restarts,
    };
    console.log(JSON.stringify(report, null, 1));

    expect(failures, "calls that failed").toEqual([]);
    expect(workFailures).toEqual([]);
    expect(report.streams).toMatchObject({ events: wanted, lost: 0, duplicated: 0, silentEnds: 0 });
    expect(report.streams.reattached, "every stream was open when its replica went").toBeGreaterThanOrEqual(
      followers.length,
    );
    for (const follower of followers) {
      expect(Object.fromEntries(follower.events), `${follower.name}, ${follower.id}`).toEqual({
        "status WORKING": 1,
        artifact: chunks.get(follower.id),
        "status COMPLETED": 1,
      });
    }
    expect(balancer.refused, "connections that were sent to a closed port").toEqual([]);
    for (const restart of restarts) {
      expect(restart.exitCode).toBe(0);
      expect(restart.endedInMs).toBeLessThan(10_000);
    }
    await Promise.all([...callers, ...watchers].map(({ driver }) => driver.close()));
  },
  FULL ? 400_000 : 120_000,
);
