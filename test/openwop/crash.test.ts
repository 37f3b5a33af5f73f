/** `kill -9` of the gateway at every step of a create and of a reply. */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { type GatewayProcess, type HostProcess, startGatewayProcess, startHostProcess } from "./processes.ts";
import { eventually, type Json, RpcClient, sleep } from "./rpc.ts";
import { openwopAgent } from "./setup.ts";

const SEEDS = Number(process.env.FAULT_SEEDS ?? 10);

let redis: TestRedis;
let host: HostProcess;
let token: string;
const running = new Set<GatewayProcess>();

async function start(): Promise<GatewayProcess> {
  const gateway = await startGatewayProcess({
    agents: { journey: openwopAgent(host.url, "journey") },
    defaultAgent: "journey",
    redis: { url: redis.server.url },
  });
  running.add(gateway);
  return gateway;
}
async function kill(gateway: GatewayProcess): Promise<void> {
  running.delete(gateway);
  await gateway.kill();
}

beforeAll(async () => {
  redis = await startTestRedis();
  host = await startHostProcess();
  const gateway = await start();
  token = await gateway.vend("journey");
  await kill(gateway);
}, 60_000);
afterEach(async () => {
  await host.control("clear");
  for (const gateway of running) await kill(gateway);
});
afterAll(async () => {
  await host.stop();
  await redis.stop();
});

const created = async (): Promise<number> => (await host.control("state")).created;
const tasksOf = async (client: RpcClient): Promise<Json[]> =>
  (await client.call("ListTasks", { pageSize: 100 })).result.tasks;

/** Sends, kills the gateway at the given moment, starts another, and sends again: one run, one task, as the host says. */
async function crashWhileCreating(moment: (gateway: GatewayProcess) => Promise<void>): Promise<void> {
  const gateway = await start();
  const client = new RpcClient(gateway.url, token);
  const before = { runs: await created(), tasks: (await tasksOf(client)).map(({ id }) => id) };
  const message = { messageId: randomUUID() };
  const lost = client.send("x", { message }).catch(() => undefined);
  await moment(gateway);
  await kill(gateway);
  await lost;
  await host.control("clear");

  const next = await start();
  const again = new RpcClient(next.url, token);
  const { id } = await again.start("x", { message });
  const task = await again.until(id, "TASK_STATE_INPUT_REQUIRED");
  expect(await created(), "one run for one message").toBe(before.runs + 1);
  const { runs } = await host.control("state");
  expect(runs.find(({ runId }: Json) => runId === id).status).toBe("waiting-approval");
  expect(task.history.filter(({ role }: Json) => role === "ROLE_USER")).toHaveLength(1);
  const added = (await tasksOf(again))
    .map((item) => item.id)
    .filter((known) => !before.tasks.includes(known));
  expect(added).toEqual([id]);
  await again.call("CancelTask", { id });
  await kill(next);
}

async function arrived(pattern: RegExp, count: number): Promise<void> {
  await eventually(async () => {
    const requests: Json[] = await host.control("requests");
    return requests.filter(({ method, path }) => pattern.test(`${method} ${path}`)).length > count;
  }, `a request like ${pattern}`);
}
async function arrivals(pattern: RegExp): Promise<number> {
  const requests: Json[] = await host.control("requests");
  return requests.filter(({ method, path }) => pattern.test(`${method} ${path}`)).length;
}
const CREATE = /^POST \/runs$/;
const RESOLVE = /^POST .*\/interrupts\//;

describe("kill -9 while creating", () => {
  it("OW-20 after the intent, before the host did anything", async () => {
    await host.control("fault", { route: "create", kind: "hang", times: 10 });
    const count = await arrivals(CREATE);
    await crashWhileCreating(() => arrived(CREATE, count));
  }, 60_000);

  it("OW-20 after the host made the run, before its answer", async () => {
    await host.control("fault", { route: "create", kind: "late", times: 10, ms: 3000 });
    const before = await created();
    await crashWhileCreating(() => eventually(async () => (await created()) > before, "the run exists"));
  }, 60_000);

  it("OW-20 after the task exists, before the client heard of it", async () => {
    const connection = await redis.connect();
    const tasks = async () =>
      Number(await connection.run("k", ["EVAL", "return #redis.call('KEYS', '*task:acme/*:log')", "0"]));
    const before = await tasks();
    await crashWhileCreating(() => eventually(async () => (await tasks()) > before, "the task exists"));
  }, 60_000);

  it(
    "OW-20 at any moment",
    async () => {
      for (let seed = 1; seed <= SEEDS; seed++) await crashWhileCreating(() => sleep((seed * 7) % 60));
    },
    60_000 + SEEDS * 15_000,
  );

  it("OW-10 OW-20 without a retry of the client, the run still becomes its task", async () => {
    const gateway = await start();
    const client = new RpcClient(gateway.url, token);
    const known = (await tasksOf(client)).map(({ id }) => id);
    const before = await created();
    await host.control("fault", { route: "create", kind: "late", times: 10, ms: 3000 });
    const lost = client.send("orphan").catch(() => undefined);
    await eventually(async () => (await created()) > before, "the run exists");
    await kill(gateway);
    await lost;
    await host.control("clear");
    const next = new RpcClient((await start()).url, token);
    let added: Json[] = [];
    await eventually(async () => {
      added = (await tasksOf(next)).filter(({ id }) => !known.includes(id));
      return added.length > 0;
    }, "the task appears");
    expect(await created()).toBe(before + 1);
    await next.until(added[0].id, "TASK_STATE_INPUT_REQUIRED");
  }, 60_000);
});

describe("kill -9 while replying", () => {
  it("OW-29 after the host took the answer: a retry finds it taken, once, and in the history", async () => {
    const gateway = await start();
    const client = new RpcClient(gateway.url, token);
    const task = await client.start();
    await host.control("fault", { route: "resolve", kind: "late", times: 10, ms: 3000 });
    const count = await arrivals(RESOLVE);
    const message = { messageId: randomUUID() };
    const lost = client.decide(task.id, { action: "accept" }, message).catch(() => undefined);
    await arrived(RESOLVE, count);
    await sleep(100);
    await kill(gateway);
    await lost;
    await host.control("clear");
    const next = new RpcClient((await start()).url, token);
    const { result } = await next.decide(task.id, { action: "accept" }, message);
    expect(result.task.id).toBe(task.id);
    await eventually(async () => {
      const now = await next.task(task.id);
      return now.metadata?.openwop?.interrupt?.kind === "clarification";
    }, "the run went on");
    const seen = await next.task(task.id);
    expect(seen.history.filter(({ messageId }: Json) => messageId === message.messageId)).toHaveLength(1);
    const { runs } = await host.control("state");
    const run = runs.find(({ runId }: Json) => runId === task.id);
    expect(run.events.filter(({ type }: Json) => type === "approval.received")).toHaveLength(1);
  }, 60_000);
});

describe("kill -9 of a follower", () => {
  it("OW-10 another replica goes on with its runs", async () => {
    const first = await start();
    const second = await start();
    const client = new RpcClient(first.url, token);
    const tasks = await Promise.all([1, 2, 3].map(() => client.start()));
    await kill(first);
    const other = new RpcClient(second.url, token);
    const stream = other.stream("SubscribeToTask", { id: tasks[0].id });
    await eventually(() => stream.items.length > 0, "open");
    for (const { id } of tasks) await host.control("advance", { runId: id, value: { action: "accept" } });
    await eventually(
      () => stream.items.some(({ result }) => result?.artifactUpdate !== undefined),
      "it is told",
      15_000,
    );
    stream.stop();
    for (const { id } of tasks) {
      const task = await other.until(id, "TASK_STATE_INPUT_REQUIRED");
      expect(task.artifacts.map(({ artifactId }: Json) => artifactId)).toEqual(["plan", "build"]);
    }
  }, 60_000);
});
