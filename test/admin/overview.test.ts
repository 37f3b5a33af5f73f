import { timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisMode } from "../../gen/baton/admin/v1/stats_pb.js";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { agentSays, Reading, type Sender, senderOf, workerOf } from "../engine/client.ts";
import { startTestGateway } from "../gateway.ts";
import { codeOf, startTwo, type Two } from "./rig.ts";

const AGENTS = { alpha: { queues: ["build", "docs"], defaultQueue: "build" }, beta: {} };

let two: Two;
let ann: Sender;
let worker: ReturnType<typeof workerOf>;
beforeAll(async () => {
  two = await startTwo({ agents: AGENTS, defaultAgent: "alpha", retries: { maxAttempts: 1 } });
  const queues = ["build", "docs"];
  ann = senderOf(two.gateway.url, await two.gateway.vend({ agent: "alpha", name: "ann", queues }));
  worker = workerOf(two.other.url, await two.gateway.vendWorker({ agent: "alpha", name: "mill", queues }));
});
afterAll(() => two?.stop());

async function queue(name: string) {
  const { queues } = await two.otherAdmin.queues.listQueues({ agent: "alpha" });
  const found = queues.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no queue ${name}`);
  return found;
}

describe("QueueService", () => {
  it("lists queues in which nothing is, by agent and name", async () => {
    const { queues } = await two.admin.queues.listQueues({});
    expect(queues.map(({ agent, name }) => `${agent}/${name}`)).toEqual([
      "alpha/build",
      "alpha/docs",
      "beta/default",
    ]);
    expect(queues[0]?.depth).toMatchObject({ ready: 0n, delayed: 0n, leased: 0n, waiting: 0n, dead: 0n });
    expect(queues[0]).toMatchObject({ workers: 0, submitters: 1, sendsPerSecond: 100_000 });
    expect(queues[0]?.oldestReadyAt).toBeUndefined();
    expect((await two.admin.queues.listWorkers({})).workers).toEqual([]);
    expect(await codeOf(two.admin.queues.listQueues({ agent: "constructor" }))).toBe("InvalidArgument");
    expect(await codeOf(two.admin.queues.listWorkers({ queue: "__proto__" }))).toBe("InvalidArgument");
  });

  it("counts what stands where, and since when", async () => {
    const began = Date.now();
    const [held, asked, dead] = [await ann.send("1"), await ann.send("2"), await ann.send("3")];
    await ann.send("4");
    await worker.claimById({ id: held.id });
    await worker.claimById({ id: asked.id });
    await worker.requireInput({ id: asked.id, message: agentSays("?") });
    await worker.claimById({ id: dead.id });
    await worker.fail({ id: dead.id });
    const build = await queue("build");
    expect(build.depth).toMatchObject({ ready: 1n, delayed: 0n, leased: 1n, waiting: 1n, dead: 1n });
    expect(build.workers).toBe(1);
    for (const time of [build.oldestReadyAt, build.oldestWaitingAt]) {
      if (time === undefined) throw new Error("no time");
      expect(timestampMs(time)).toBeGreaterThanOrEqual(began - 50);
      expect(timestampMs(time)).toBeLessThanOrEqual(Date.now() + 50);
    }
    expect(build.nextLeaseExpiryAt && timestampMs(build.nextLeaseExpiryAt)).toBeGreaterThan(Date.now());
    expect((await queue("docs")).workers).toBe(0);
  });

  it("lists who works: what they hold, until when, and who only waits for work", async () => {
    await worker.claim({ queue: "docs", claimant: "idle one" });
    const mine = await ann.send("mine");
    await worker.claimById({ id: mine.id, claimant: "busy" });
    const { workers } = await two.admin.queues.listWorkers({ agent: "alpha" });
    const busy = workers.find(({ name }) => name === "busy");
    expect(busy).toMatchObject({
      agent: "alpha",
      endpointId: await two.endpointId("mill"),
      endpointName: "mill",
      queues: ["build"],
      held: 1,
      todos: [{ id: mine.id, queue: "build", state: "claimed", attempt: 1, title: "mine" }],
    });
    const lease = busy?.todos[0]?.leaseExpiresAt;
    expect(lease && timestampMs(lease)).toBeGreaterThan(Date.now());
    const idle = workers.find(({ name }) => name === "idle one");
    expect(idle).toMatchObject({ queues: ["docs"], held: 0, todos: [] });
    expect(Math.abs(Date.now() - (idle?.lastSeenAt ? timestampMs(idle.lastSeenAt) : 0))).toBeLessThan(10_000);
    const docs = await two.otherAdmin.queues.listWorkers({ queue: "docs" });
    expect(docs.workers.map(({ name }) => name)).toEqual(["idle one"]);
    await worker.heartbeat({ id: mine.id });
    await worker.complete({ id: mine.id });
    const after = await two.admin.queues.listWorkers({ agent: "alpha" });
    expect(after.workers.find(({ name }) => name === "busy")).toMatchObject({ held: 0 });
  });

  it("remembers a bounded number of workers, however many names one gives itself", async () => {
    const token = await two.gateway.vendWorker({ agent: "beta", name: "many" });
    const many = workerOf(two.gateway.url, token);
    for (let i = 0; i < 1100; i += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, n) => many.claim({ claimant: `w${i + n}` })));
    }
    expect(Number(await two.redis.run("baton:{beta}:", ["ZCARD", "baton:{beta}:workers"]))).toBe(1000);
    expect((await two.admin.queues.listWorkers({ agent: "beta" })).workers).toHaveLength(1000);
    const ttl = Number(await two.redis.run("baton:{beta}:", ["PTTL", "baton:{beta}:workers"]));
    expect(ttl).toBeGreaterThan(0);
  });
});

describe("StatsService", () => {
  it("counts tasks by state for each agent, and says how Redis and the gateway are", async () => {
    const stats = await two.admin.stats.getStats({});
    const alpha = stats.agents.find(({ agent }) => agent === "alpha");
    const count = (state: TaskState) => alpha?.tasks.find((each) => each.state === state)?.count;
    const kept = (await two.admin.tasks.searchTasks({ agent: "alpha", pageSize: 200 })).tasks;
    for (const state of [TaskState.SUBMITTED, TaskState.WORKING, TaskState.FAILED, TaskState.COMPLETED]) {
      const found = kept.filter((task) => task.state === state).length;
      expect(found, TaskState[state]).toBeGreaterThan(0);
      expect(count(state), TaskState[state]).toBe(BigInt(found));
    }
    expect(count(TaskState.CANCELED)).toBeUndefined();
    expect(alpha).toMatchObject({ backend: "todo", deadTodos: 1n, pushLanes: 0n, deadPushes: 0n });
    expect(stats.agents.map(({ agent }) => agent)).toEqual(["alpha", "beta"]);
    expect(stats.redisMode).toBe(RedisMode.SINGLE);
    expect(stats.redisServers).toHaveLength(1);
    expect(stats.redisServers[0]).toMatchObject({ appendOnly: true, appendOnlyOk: true, evictedKeys: 0n });
    expect(stats.redisServers[0]?.version).toMatch(/^\d+\.\d+/);
    expect(Number(stats.redisServers[0]?.usedMemoryBytes)).toBeGreaterThan(100_000);
    expect(stats.version).toMatch(/^\d+\.\d+\.\d+/);
  });

  it("knows both replicas, their streams, and which of them answers; one that stops is gone at once", async () => {
    const { replicas } = await two.admin.stats.getStats({});
    expect(replicas).toHaveLength(2);
    const seen = (await two.otherAdmin.stats.getStats({})).replicas;
    const selves = [replicas, seen].map((list) => list.find(({ self }) => self)?.id);
    expect(new Set(selves).size).toBe(2);
    expect(replicas.every(({ ready, version }) => ready && version !== "")).toBe(true);
    const task = await ann.send("watched");
    const reading = new Reading((signal) => ann.client.subscribeToTask({ id: task.id }, { signal }));
    await reading.until("task SUBMITTED");
    const streams = async () => {
      const live = (await two.otherAdmin.stats.getStats({})).replicas;
      return live.reduce((sum, { openStreams }) => sum + openStreams, 0);
    };
    for (let i = 0; i < 80 && (await streams()) === 0; i++)
      await new Promise((wake) => setTimeout(wake, 100));
    expect(await streams()).toBe(1);
    reading.stop();
    const third = await startTestGateway({
      redis: { url: two.redisUrl },
      agents: AGENTS,
      defaultAgent: "alpha",
    });
    expect((await two.admin.stats.getStats({})).replicas).toHaveLength(3);
    await third.stop();
    expect((await two.admin.stats.getStats({})).replicas).toHaveLength(2);
  });
});
