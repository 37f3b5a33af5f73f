import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DEDUP_MS } from "../../src/store/load-scripts.ts";
import { agentSays } from "./client.ts";
import { type Engine, holder, type Rig, startEngine } from "./rig.ts";

let engine: Engine;
let rig: Rig;
const ann = holder("ann");

beforeAll(async () => {
  engine = await startEngine();
});
afterAll(() => engine?.stop());
beforeEach(async () => {
  rig = await engine.rig();
});

const END: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
  done: async (id) => {
    await rig.take(ann, id);
    await rig.finish(ann, id, "complete");
  },
  failed: async (id) => {
    await rig.take(ann, id);
    await rig.finish(ann, id, "fail", { permanent: true });
  },
  canceled: (id) => rig.cancel(id),
  rejected: async (id) => {
    await rig.take(ann, id);
    await rig.finish(ann, id, "reject");
  },
};

describe("the idempotency key", () => {
  it("SB-21 20 parallel creates with one key make one todo, one event, one ring of work", async () => {
    const results = await Promise.all(Array.from({ length: 20 }, () => rig.create({ idempotencyKey: "k" })));
    expect(results.filter(({ kind }) => kind === "created")).toHaveLength(1);
    const ids = new Set(results.map(({ snapshot }) => snapshot.task.id));
    expect(ids.size).toBe(1);
    const [id = ""] = ids;
    expect(await rig.log(id)).toEqual({ count: 1, last: 1 });
    expect((await rig.audit()).map(({ event }) => event)).toEqual(["create"]);
    expect(await rig.run("ZCARD", rig.key("queue", "default", "all"))).toBe(1);
  });

  it("SB-22 a claimed, an interrupted and a parked todo keep their key", async () => {
    const id = await rig.todo({ idempotencyKey: "k" });
    const again = () => rig.create({ idempotencyKey: "k" });
    await rig.take(ann, id);
    expect((await again()).snapshot.task.id).toBe(id);
    await rig.interrupt(ann, id);
    expect((await again()).snapshot.task.id).toBe(id);
    await rig.reply(id);
    await rig.finish(ann, id, "fail");
    expect(await again()).toMatchObject({ kind: "replayed", snapshot: { task: { id } } });
  });

  it.each(Object.keys(END))("SB-22 a %s todo frees its key at once", async (state) => {
    const id = await rig.todo({ idempotencyKey: "k" });
    await END[state]?.(id);
    expect(await rig.state(id)).toBe(state);
    const next = await rig.create({ idempotencyKey: "k" });
    expect(next.kind).toBe("created");
    expect(next.snapshot.task.id).not.toBe(id);
  });

  it("SB-22 work refused at intake does not hold the key either", async () => {
    await rig.create({ idempotencyKey: "k", rejectWith: agentSays("no") });
    expect((await rig.create({ idempotencyKey: "k" })).kind).toBe("created");
  });

  it("SB-22 a retried dead letter takes its key back, unless another todo has it, whose key it then never frees", async () => {
    const first = await rig.todo({ idempotencyKey: "k" });
    await END.failed?.(first);
    await rig.todos.retry(rig.agent, first, "operator");
    expect((await rig.create({ idempotencyKey: "k" })).snapshot.task.id).toBe(first);
    await END.failed?.(first);
    const second = await rig.todo({ idempotencyKey: "k" });
    await rig.todos.retry(rig.agent, first, "operator");
    await END.done?.(first);
    expect((await rig.create({ idempotencyKey: "k" })).snapshot.task.id).toBe(second);
  });

  it("SB-23 keys of two endpoints are strangers to each other, and so are their todos", async () => {
    const mine = await rig.create({ idempotencyKey: "k" });
    const theirs = await rig.create({ idempotencyKey: "k", owner: "ep_other" });
    expect(theirs.kind).toBe("created");
    await expect(rig.task(mine.snapshot.task.id, "ep_other")).rejects.toThrow("no task");
    await expect(rig.task(theirs.snapshot.task.id)).rejects.toThrow("no task");
  });
});

describe("the message id", () => {
  it("SB-21 Q11 the same message is found while the task is open, and for 24 hours after it ended", async () => {
    const id = await rig.todo({ messageKey: "m" });
    expect(await rig.create({ messageKey: "m" })).toMatchObject({
      kind: "replayed",
      snapshot: { task: { id } },
    });
    const key = rig.key("msg", "ep_sender", "m");
    expect(await rig.run("PTTL", key)).toBe(-1);
    await END.done?.(id);
    const ttl = Number(await rig.run("PTTL", key));
    expect(ttl).toBeGreaterThan(DEDUP_MS - 10_000);
    expect(ttl).toBeLessThanOrEqual(DEDUP_MS);
    expect(await rig.create({ messageKey: "m" })).toMatchObject({
      kind: "replayed",
      snapshot: { task: { id } },
    });
    // Confirming it neither starts the 24 hours anew nor makes them endless.
    await rig.run("PEXPIRE", key, "5000");
    await rig.create({ messageKey: "m" });
    expect(Number(await rig.run("PTTL", key))).toBeGreaterThan(0);
    expect(Number(await rig.run("PTTL", key))).toBeLessThanOrEqual(5000);
    expect((await rig.log(id)).last).toBe(3);
  });

  it("SB-21 Q11 a retried dead letter is found for as long as it lives again", async () => {
    const id = await rig.todo({ messageKey: "m" });
    await END.failed?.(id);
    await rig.todos.retry(rig.agent, id, "operator");
    expect(await rig.run("PTTL", rig.key("msg", "ep_sender", "m"))).toBe(-1);
  });

  it("SB-21 Q11 the same message id with other content is a mismatch and makes nothing", async () => {
    await rig.todo({ messageKey: "m" });
    await expect(rig.create({ messageKey: "m", bodyHash: "other" })).rejects.toThrow("mismatch");
    expect(await rig.run("ZCARD", rig.key("queue", "default", "all"))).toBe(1);
  });

  it("Q11 a reply that is sent again is stored once, and a reply cannot reuse the id of another task's message", async () => {
    const id = await rig.todo({ messageKey: "m" });
    const other = await rig.todo();
    expect((await rig.reply(id, { messageKey: "r" })).kind).toBe("accepted");
    expect((await rig.reply(id, { messageKey: "r" })).kind).toBe("replayed");
    expect((await rig.task(id)).task.history).toHaveLength(2);
    expect((await rig.reply(other, { messageKey: "r" })).kind).toBe("mismatch");
    expect((await rig.reply(other, { messageKey: "m" })).kind).toBe("mismatch");
  });
});
