/** Exactly one execution for each (caller, agent, messageId): on two replicas at once, and across a restart. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { message, Peer } from "../scenarios/actors.ts";
import { DRIVERS } from "./drivers.ts";
import { connect, refusal, workerOf } from "./rig.ts";

const AGENTS = { default: {}, other: {} };
const NOW = { configuration: { returnImmediately: true } };

let redis: TestRedis;
let replicas: TestGateway[];

const start = () => startTestGateway({ redis: { url: redis.server.url }, agents: AGENTS });

beforeAll(async () => {
  redis = await startTestRedis();
  replicas = await Promise.all([start(), start()]);
});
afterAll(async () => {
  await Promise.all((replicas ?? []).map((replica) => replica.stop()));
  await redis?.stop();
});

function replica(index: number): TestGateway {
  const found = replicas[index % replicas.length];
  if (found === undefined) throw new Error("no replica");
  return found;
}

/** Claims everything that is in the queue. */
async function claimAll(agent = "default"): Promise<string[]> {
  const worker = await workerOf(replica(0), { agent });
  const ids: string[] = [];
  for (;;) {
    const { todo } = await worker.client.claim({ claimant: "count" });
    if (todo === undefined) return ids;
    ids.push(todo.id);
    await worker.client.complete({ id: todo.id });
  }
}

describe.each(DRIVERS.map((kind) => [kind.name, kind] as const))("%s", (_, kind) => {
  it("A2A-44, FR-18 twenty sends at once on two replicas are one task, started once", async () => {
    await claimAll();
    const drivers = await Promise.all(replicas.map((each) => connect(kind, each)));
    const token = await replica(0).vend();
    const content = message("slow", { messageId: randomUUID(), metadata: { b: 1, a: { d: null, c: 2 } } });
    const sends = Array.from({ length: 20 }, (__, index) => {
      const driver = drivers[index % drivers.length];
      if (driver === undefined) throw new Error("no driver");
      return new Peer(driver, { token }).send(content, NOW);
    });
    const tasks = await Promise.all(sends);
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
    for (const task of tasks) expect(task.history).toHaveLength(1);
    expect(await claimAll()).toEqual([tasks[0]?.id]);
    await Promise.all(drivers.map((driver) => driver.close()));
  });

  it("A2A-44 half of them as streams: still one", async () => {
    await claimAll();
    const drivers = await Promise.all(replicas.map((each) => connect(kind, each)));
    const token = await replica(0).vend();
    const content = message("slow", { messageId: randomUUID() });
    const ids = await Promise.all(
      Array.from({ length: 6 }, async (__, index) => {
        const driver = drivers[index % drivers.length];
        if (driver === undefined) throw new Error("no driver");
        const peer = new Peer(driver, { token });
        if (index < 3) return (await peer.send(content, NOW)).id;
        const watch = await peer.stream(content);
        const { id } = await watch.task();
        watch.close();
        return id;
      }),
    );
    expect(new Set(ids).size).toBe(1);
    expect(await claimAll()).toEqual([ids[0]]);
    await Promise.all(drivers.map((driver) => driver.close()));
  });
});

describe("over every binding together", () => {
  it("A2A-44, A2A-1 a retry on another binding is the same send", async () => {
    await claimAll();
    const token = await replica(0).vend();
    const content = message("slow", { messageId: randomUUID(), parts: [{ data: { n: [1, null, "x"] } }] });
    const ids = new Set<string>();
    for (const [index, kind] of DRIVERS.entries()) {
      const driver = await connect(kind, replica(index));
      ids.add((await new Peer(driver, { token }).send(content, NOW)).id);
      await driver.close();
    }
    expect(ids.size).toBe(1);
    expect(await claimAll()).toEqual([...ids]);
  });

  it("FR-18 other text under the same id is refused; another caller and another agent have ids of their own", async () => {
    const [kind] = DRIVERS;
    if (kind === undefined) throw new Error("no driver");
    const driver = await connect(kind, replica(0));
    const [alice, bob, other] = await Promise.all([
      replica(0).vend(),
      replica(0).vend(),
      replica(0).vend({ agent: "other" }),
    ]);
    const messageId = randomUUID();
    const first = await new Peer(driver, { token: alice }).send(message("one", { messageId }), NOW);
    const clash = await refusal(new Peer(driver, { token: alice }).send(message("two", { messageId }), NOW));
    expect(clash.violations.map(({ field }) => field)).toEqual(["message.messageId"]);
    const ids = [
      first.id,
      (await new Peer(driver, { token: bob }).send(message("one", { messageId }), NOW)).id,
      (await new Peer(driver, { token: other }).send(message("one", { messageId }), NOW)).id,
    ];
    expect(new Set(ids).size).toBe(3);
    await driver.close();
  });

  it("A2A-44 a retry after every replica was restarted finds the task, finished or not", async () => {
    await claimAll();
    const [kind] = DRIVERS;
    if (kind === undefined) throw new Error("no driver");
    const token = await replica(0).vend();
    const pending = message("one", { messageId: randomUUID() });
    const done = message("two", { messageId: randomUUID() });
    const before = await connect(kind, replica(0));
    const first = await new Peer(before, { token }).send(pending, NOW);
    const second = await new Peer(before, { token }).send(done, NOW);
    await (await workerOf(replica(0))).do(second.id);
    await before.close();
    await Promise.all(replicas.map((each) => each.stop()));
    replicas = await Promise.all([start(), start()]);

    const after = await connect(kind, replica(1));
    const peer = new Peer(after, { token });
    expect((await peer.send(pending, NOW)).id).toBe(first.id);
    const again = await peer.send(done, NOW);
    expect([again.id, again.status?.state]).toEqual([second.id, (await peer.get(second.id)).status?.state]);
    expect(await claimAll()).toEqual([first.id]);
    await after.close();
  });

  it("A2A-44 a reply that is sent again is stored once", async () => {
    const [kind] = DRIVERS;
    if (kind === undefined) throw new Error("no driver");
    const drivers = await Promise.all(replicas.map((each) => connect(kind, each)));
    const token = await replica(0).vend();
    const [driver] = drivers;
    if (driver === undefined) throw new Error("no driver");
    const peer = new Peer(driver, { token });
    const { id } = await peer.start();
    const worker = await workerOf(replica(0));
    await worker.claim(id);
    await worker.ask(id, "which?");
    const reply = message("that", { messageId: randomUUID(), taskId: id });
    await Promise.all(
      Array.from({ length: 10 }, (__, index) => {
        const other = drivers[index % drivers.length];
        return other === undefined ? undefined : new Peer(other, { token }).send(reply, NOW);
      }),
    );
    const { history } = await peer.get(id);
    expect(history.filter(({ messageId }) => messageId === reply.messageId)).toHaveLength(1);
    await Promise.all(drivers.map((each) => each.close()));
  });
});
