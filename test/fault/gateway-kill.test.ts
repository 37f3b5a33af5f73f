/** kill -9 of the gateway, with its own Redis (which dies with it) and with one that stays. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { message } from "../scenarios/actors.ts";
import { jsonRpcDriver } from "../scenarios/drivers/jsonrpc.ts";
import { restDriver } from "../scenarios/drivers/rest.ts";
import { Mortal, type Pair, startPair } from "./serve.ts";

/** Does it for each, eight at a time, past failures. */
async function eightAtATime<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const rest = [...items.entries()];
  const lane = async () => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
      await work(next[1], next[0]).catch(() => {});
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}

describe.each(["embedded", "shared"] as const)("a gateway with %s Redis, killed with -9", (kind) => {
  let redis: TestRedis | undefined;
  let gateway: Mortal;
  let client: string;
  let work: string;

  beforeEach(async () => {
    redis = kind === "shared" ? await startTestRedis() : undefined;
    gateway = await Mortal.start(redis?.server.url);
    client = await gateway.vendor.vend();
    work = await gateway.vendor.vendWorker();
  });
  afterEach(async () => {
    await gateway?.stop();
    await redis?.stop();
  });

  it("FR-27 A2A-83 SB-6 while a task is working: the task is there, its worker ends it, a new subscriber sees the end", async () => {
    const before = await gateway.peer(client);
    const { id, contextId } = await before.start("survive me");
    const worker = gateway.worker(work);
    await worker.claim(id);
    await worker.artifact(id, { artifactId: "a", parts: [{ text: "before" }] });
    const cut = await before.subscribe(id);
    await cut.task();
    await gateway.kill();
    await expect(cut.all(), "a cut stream is not a clean end").rejects.toThrow();

    await gateway.restart();
    const after = await gateway.peer(client);
    const task = await after.get(id);
    expect(task).toMatchObject({ id, contextId });
    expect(task.status?.state).toBe(TaskState.WORKING);
    expect(task.artifacts.map(({ artifactId }) => artifactId)).toEqual(["a"]);

    const watches = await Promise.all(
      [undefined, jsonRpcDriver, restDriver].map(async (driver) =>
        (await gateway.peer(client, driver)).subscribe(id),
      ),
    );
    for (const watch of watches) expect((await watch.task()).status?.state).toBe(TaskState.WORKING);
    const again = gateway.worker(work);
    await again.artifact(id, { artifactId: "b", parts: [{ text: "after" }] });
    await again.complete(id);
    for (const watch of watches) {
      await watch.all();
      expect(watch.briefs).toEqual(["task WORKING", "artifact b=1", "status COMPLETED"]);
    }
    expect((await after.get(id)).artifacts).toHaveLength(2);
  });

  it("A2A-44 FR-18 every answered send is kept, and a retry of any send is the same one task", async () => {
    const before = await gateway.peer(client);
    const messages = Array.from({ length: 60 }, (_, index) => message(`send ${index}`));
    const answered = new Map<number, string>();
    await eightAtATime(messages, async (content, index) => {
      const { id } = await before.start(content);
      answered.set(index, id);
      if (answered.size === 20) await gateway.kill();
    });
    expect(answered.size).toBeGreaterThanOrEqual(20);
    expect(answered.size, "the kill came amid the sends").toBeLessThan(messages.length);

    await gateway.restart();
    const after = await gateway.peer(client);
    for (const id of answered.values()) expect((await after.get(id)).status?.state).toBe(TaskState.SUBMITTED);
    const retried = await Promise.all(messages.map(async (content) => (await after.start(content)).id));
    for (const [index, id] of answered) expect(retried[index]).toBe(id);
    expect(new Set(retried).size).toBe(messages.length);
    expect((await after.list({ pageSize: 100 })).totalSize).toBe(messages.length);
  });

  it("SB-26 SB-24 a kill amid transitions leaves each whole or not begun: record, events and attempts agree", async () => {
    const before = await gateway.peer(client);
    const worker = gateway.worker(work);
    const ids = await Promise.all(Array.from({ length: 40 }, async () => (await before.start()).id));
    await Promise.all(ids.map((id) => worker.claim(id)));
    let completed = 0;
    await eightAtATime(ids, async (id) => {
      await worker.complete(id, [{ artifactId: "out", parts: [{ text: "x" }] }]);
      completed += 1;
      if (completed === 10) await gateway.kill();
    });

    await gateway.restart();
    const after = await gateway.peer(client);
    const again = gateway.worker(work);
    let ended = 0;
    for (const id of ids) {
      const task = await after.get(id);
      const { attempts } = await again.client.getTodo({ id });
      const done = task.status?.state === TaskState.COMPLETED;
      if (!done) expect(task.status?.state).toBe(TaskState.WORKING);
      expect(task.artifacts).toHaveLength(done ? 1 : 0);
      expect(attempts.map(({ endedAt }) => endedAt !== undefined)).toEqual([done]);
      if (done) {
        ended += 1;
        continue;
      }
      const watch = await after.subscribe(id);
      await watch.task();
      await again.complete(id, [{ artifactId: "out", parts: [{ text: "x" }] }]);
      await watch.all();
      expect(watch.briefs).toEqual(["task WORKING", "artifact out=1 last", "status COMPLETED"]);
    }
    expect(ended, "the kill came amid the transitions").toBeGreaterThanOrEqual(10);
    expect(ended).toBeLessThan(ids.length);
  });
});

describe("two gateways on one Redis, one killed with -9", () => {
  let pair: Pair;

  beforeEach(async () => {
    pair = await startPair();
  });
  afterEach(() => pair?.stop());

  it("FR-32 SB-45 a subscriber at the other one sees everything, and the killed one's client goes on there", async () => {
    const { first, second } = pair;
    const client = await first.vendor.vend();
    const work = await first.vendor.vendWorker();
    const origin = await (await first.peer(client)).stream("through the first");
    const { id } = await origin.task();
    const kept = await (await second.peer(client)).subscribe(id);
    await kept.task();
    await first.worker(work).claim(id);
    await kept.until("status WORKING");
    await first.kill();
    await expect(origin.all()).rejects.toThrow();

    const moved = await (await second.peer(client)).subscribe(id);
    await moved.task();
    await second.worker(work).complete(id, [{ artifactId: "a", parts: [{ text: "x" }] }]);
    await Promise.all([kept.all(), moved.all()]);
    expect(kept.briefs).toEqual([
      "task SUBMITTED",
      "status WORKING",
      "artifact a=1 last",
      "status COMPLETED",
    ]);
    expect(moved.briefs).toEqual(["task WORKING", "artifact a=1 last", "status COMPLETED"]);
  });
});
