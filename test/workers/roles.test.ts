/**
 * Workers and roles at once: one set of processes serves callers, another does the rest, two workers each, on one Redis
 * and one configuration. What is to happen once happens once, whoever of them takes it.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenWopHost, startOpenWopHost } from "../../examples/openwop-host/host.ts";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RedisConnection } from "../../src/store/connection.ts";
import { portsOf, type ServeProcess, startServe } from "../cli/processes.ts";
import { createVendor, UNLIMITED, type Vendor } from "../gateway.ts";
import { RpcClient } from "../openwop/rpc.ts";
import { openwopAgent } from "../openwop/setup.ts";
import { type PushReceiver, startPushReceiver, testAuthority } from "../push/receiver.ts";
import { QUICK } from "../push/rig.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { Peer, TestWorker, workerTransport } from "../scenarios/actors.ts";
import { jsonRpcDriver } from "../scenarios/drivers/jsonrpc.ts";
import { scrape, sum } from "../telemetry/scrape.ts";
import { killWorkerOf, workersOf } from "./children.ts";

const ADMIN_TOKEN = "admin-token-for-tests-only";
const WORKERS = 2;
const PATIENT = { timeout: 30_000 };
const TASKS = 20;
const RUNS = 6;

let folder: string;
let redis: TestRedis;
let store: RedisConnection;
let host: OpenWopHost;
let hook: PushReceiver;
let front: ServeProcess;
let back: ServeProcess;
let vendor: Vendor;
let peer: Peer;
let hands: TestWorker;

/** `ports`: one configuration for both sets names one port for callers, whoever of them opens it. */
function start(roles: string, ports?: { readonly main: string; readonly admin: string }) {
  return startServe(join(folder, roles), {
    cwd: folder,
    env: {
      BATON_ADMIN_TOKEN: ADMIN_TOKEN,
      BATON_REDIS_URL: redis.server.url,
      BATON_ROLES: roles,
      BATON_WORKERS: String(WORKERS),
    },
    ...(ports === undefined ? {} : { ports }),
  });
}

const startBack = () => start("push,followers,sweeper", { main: portsOf(front).main, admin: "0" });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-worker-roles-"));
  redis = await startTestRedis();
  store = await redis.connect();
  host = await startOpenWopHost();
  hook = await startPushReceiver();
  const authority = join(folder, "ca.pem");
  await writeFile(authority, testAuthority().ca);
  const config = {
    limits: UNLIMITED,
    agents: { default: {}, slow: openwopAgent(host.url, "slow") },
    defaultAgent: "default",
    leases: { sweepSeconds: 0.2 },
    push: { ...QUICK, caFiles: [authority] },
  };
  await writeFile(join(folder, "baton.yaml"), JSON.stringify(config));
  front = await start("gateway");
  vendor = createVendor(front.adminUrl, ADMIN_TOKEN);
  const driver = await jsonRpcDriver.connect({ url: front.url, authority: new URL(front.url).host });
  peer = new Peer(driver, { token: await vendor.vend({ push: true }) });
  hands = new TestWorker(workerTransport(front.url, await vendor.vendWorker()));
}, 120_000);

afterAll(async () => {
  await Promise.all([front?.end("SIGKILL"), back?.end("SIGKILL")]);
  await hook?.close();
  await host?.stop();
  await redis?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

const metric = async (serve: ServeProcess, name: string, labels?: Record<string, string>) =>
  sum(await scrape(serve.adminUrl), name, labels);
const status = async (serve: ServeProcess) => (await fetch(`${serve.adminUrl}/readyz`)).status;

/** Connections that wait at the push queue for work. */
async function consumers(): Promise<number> {
  const list = String(await store.run("baton:", ["CLIENT", "LIST"]));
  return list.split("\n").filter((line) => / cmd=bzpopmin/.test(line)).length;
}

/** A task whose events are pushed to the hook. */
const pushed = () =>
  peer.start("do it", { configuration: { taskPushNotificationConfig: { url: hook.url } } });

describe("baton serve --workers with --roles", { timeout: 120_000 }, () => {
  it("each set has workers of its own, opens what its roles need and nothing else, and is ready", async () => {
    expect(await consumers(), "no push queue for the role gateway").toBe(0);
    back = await startBack();
    expect(back.url).toBe("");
    for (const serve of [front, back]) {
      expect(await workersOf(serve.child.pid)).toHaveLength(WORKERS);
      expect(await status(serve)).toBe(200);
    }
    await expect.poll(consumers, PATIENT).toBe(WORKERS);
  });

  it("each push is sent once, by the set with the role push, whose workers add up what they sent", async () => {
    const ids = await Promise.all(Array.from({ length: TASKS }, async () => (await pushed()).id));
    for (const id of ids) await hands.do(id);
    const events = 3 * TASKS;
    await hook.until(events, PATIENT.timeout);
    await sleep(1500);
    expect(hook.hits).toHaveLength(events);
    expect(new Set(hook.hits.map(({ headers }) => headers["a2a-notification-id"])).size).toBe(events);
    const delivered = { outcome: "delivered" };
    await expect.poll(() => metric(back, "baton_push_outcomes_total", delivered), PATIENT).toBe(events);
    expect(await metric(back, "baton_push_relayed_total")).toBe(events);
    expect(await metric(front, "baton_push_outcomes_total")).toBe(0);
    const sends = { rpc_method: "lf.a2a.v1.A2AService/SendMessage" };
    expect(await metric(front, "rpc_server_call_duration_seconds_count", sends)).toBe(TASKS);
    expect(await metric(back, "rpc_server_call_duration_seconds_count", sends)).toBe(0);
  });

  it("what housekeeping changes it changes once, though each worker with the role looks", async () => {
    const lapsing = await Promise.all(Array.from({ length: TASKS }, async () => (await peer.start()).id));
    const before = await metric(back, "baton_sweep_changes_total", { agent: "default" });
    for (const id of lapsing)
      await hands.client.claimById({ id, claimant: "gone", leaseTtl: { seconds: 1n } });
    await expect
      .poll(() => metric(back, "baton_sweep_changes_total", { agent: "default" }), PATIENT)
      .toBeGreaterThanOrEqual(before + TASKS);
    await sleep(1500);
    expect(await metric(back, "baton_sweep_changes_total", { agent: "default" })).toBe(before + TASKS);
    for (const id of lapsing) expect((await peer.get(id)).status?.state).toBe(TaskState.SUBMITTED);
    expect(await metric(front, "baton_sweep_rounds_total")).toBe(0);
  });

  it("each run is followed by one worker with the role followers", async () => {
    const client = new RpcClient(front.url, await vendor.vend({ agent: "slow" }));
    const begin = () => client.start("x", { configuration: { returnImmediately: true } });
    const tasks = await Promise.all(Array.from({ length: RUNS }, begin));
    await expect.poll(() => metric(back, "baton_openwop_runs_followed"), PATIENT).toBe(RUNS);
    await expect.poll(() => host.streams.size, PATIENT).toBe(RUNS);
    expect(await metric(front, "baton_openwop_runs_followed")).toBe(0);
    // Those of a worker that dies are followed by the other when the lease is over.
    const relayed = await metric(back, "baton_push_relayed_total");
    await killWorkerOf(back.child.pid);
    await expect.poll(() => status(back), { ...PATIENT, interval: 5 }).toBe(503);
    expect(await status(front), "the other set is not touched").toBe(200);
    await expect.poll(() => host.streams.size, PATIENT).toBe(RUNS);
    await expect.poll(() => status(back), PATIENT).toBe(200);
    expect(await metric(back, "baton_push_relayed_total"), "counted by the dead, too").toBe(relayed);
    await expect.poll(() => metric(back, "baton_openwop_runs_followed"), PATIENT).toBe(RUNS);
    for (const run of host.state.engine.runs.values()) host.state.engine.advance(run);
    for (const { id } of tasks) await client.until(id, "TASK_STATE_COMPLETED", PATIENT.timeout);
    await expect.poll(() => metric(back, "baton_openwop_runs_followed"), PATIENT).toBe(0);
  });

  it("drains each set alone: pushes under way are finished and not sent twice, streams are told to come again", async () => {
    hook.hits.length = 0;
    hook.answer = (_hit, response) => void setTimeout(() => response.writeHead(204).end(), 500);
    const { id } = await pushed();
    await hook.until(1, PATIENT.timeout);
    expect(await back.end("SIGTERM")).toBe(0);
    expect(back.lines.all.at(-1)).toContain("Baton has stopped");
    expect(await status(front)).toBe(200);
    await hands.do(id);
    back = await startBack();
    await hook.until(3, PATIENT.timeout);
    await sleep(1500);
    expect(hook.hits.map(({ seq }) => seq)).toEqual([1, 2, 3]);

    const watches = await Promise.all(
      Array.from({ length: 2 * WORKERS }, async () => peer.subscribe((await peer.start()).id)),
    );
    for (const watch of watches) await watch.task();
    const ends = Promise.all(watches.map((watch) => watch.all().catch((error: Error) => error.message)));
    expect(await front.end("SIGTERM")).toBe(0);
    for (const end of await ends) expect(end).toMatch(/subscribe again/);
    expect(await status(back)).toBe(200);
    expect(await back.end("SIGTERM")).toBe(0);
  });
});
