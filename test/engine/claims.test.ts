import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Engine, holder, type Rig, startEngine } from "./rig.ts";

let engine: Engine;
let rig: Rig;
const ann = holder("ann");
const ben = holder("ben");

beforeAll(async () => {
  engine = await startEngine();
});
afterAll(() => engine?.stop());
beforeEach(async () => {
  rig = await engine.rig();
});

describe("claims", () => {
  it("SB-10 50 parallel claims over 50 todos: no duplicates, no misses", async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, () => rig.todo()));
    const results = await Promise.all(ids.map((_, i) => rig.claim(holder(`w${i}`))));
    const claimed = results.map((result) => (result.kind === "claimed" ? result.todo.id : result.kind));
    expect([...claimed].sort()).toEqual([...ids].sort());
    expect((await rig.claim(ann)).kind).toBe("empty");
  });

  it("SB-11 20 parallel claims of one todo: one winner, 19 conflicts, one attempt", async () => {
    const id = await rig.todo();
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => rig.claim(holder(`w${i}`), { id })),
    );
    expect(results.filter(({ kind }) => kind === "claimed")).toHaveLength(1);
    expect(results.filter(({ kind }) => kind === "conflict")).toHaveLength(19);
    expect((await rig.read(id)).todo.attempt).toBe(1);
  });

  it("SB-12 the oldest claimable comes first, even when it was released and when a younger one was requeued before", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 4; i += 1) ids.push(await rig.todo());
    const [first, second, third, fourth] = ids as [string, string, string, string];
    await rig.take(ann, second);
    await rig.take(ann, first);
    await rig.finish(ann, second, "release");
    await rig.finish(ann, first, "release");
    const order: string[] = [];
    for (let i = 0; i < 4; i += 1) {
      const result = await rig.claim(ben);
      if (result.kind === "claimed") order.push(result.todo.id);
    }
    expect(order).toEqual([first, second, third, fourth]);
  });

  it("SB-12 work that is assigned is skipped for others and conflicts on a direct claim", async () => {
    const mine = await rig.todo({ assignee: "ben" });
    const pool = await rig.todo();
    expect((await rig.claim(ann, { id: mine })).kind).toBe("conflict");
    expect(await rig.claim(ann)).toMatchObject({ kind: "claimed", todo: { id: pool } });
    expect((await rig.claim(ann)).kind).toBe("empty");
    expect(await rig.claim(ben)).toMatchObject({ kind: "claimed", todo: { id: mine, assignee: "ben" } });
  });

  it("SB-12 an assignee may be the name that a worker gives for itself", async () => {
    const id = await rig.todo({ assignee: "gpu-7" });
    expect((await rig.claim(ann, { claimant: "gpu-8" })).kind).toBe("empty");
    expect(await rig.claim(ann, { claimant: "gpu-7" })).toMatchObject({ kind: "claimed", todo: { id } });
  });

  it("SB-12 a page full of other people's work does not hide one's own", async () => {
    for (let i = 0; i < 120; i += 1) await rig.todo({ assignee: "ben" });
    const id = await rig.todo({ assignee: "ann" });
    expect(await rig.claim(ann)).toMatchObject({ kind: "claimed", todo: { id } });
  });

  it("SB-13 a live lease hides the todo, and only its holder may act on it", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    expect((await rig.claim(ben)).kind).toBe("empty");
    expect((await rig.claim(ben, { id })).kind).toBe("conflict");
    const before = await rig.read(id);
    const attempts = [
      rig.todos.heartbeat(rig.agent, id, ben, 1000),
      rig.finish(ben, id, "complete"),
      rig.finish(ben, id, "fail"),
      rig.finish(ben, id, "release"),
      rig.finish(ben, id, "reject"),
      rig.interrupt(ben, id),
      rig.interrupt(ben, id, "require_auth"),
    ];
    for (const result of await Promise.all(attempts)) expect(result.kind).toBe("conflict");
    expect(await rig.read(id)).toEqual(before);
  });

  it("SB-13 a worker that is not granted the queue learns of nothing", async () => {
    const id = await rig.todo();
    const outsider = holder("eve", { queues: ["other"] });
    expect((await rig.claim(outsider, { id })).kind).toBe("notfound");
    await rig.take(ann, id);
    for (const verb of ["complete", "fail", "release", "reject"] as const) {
      expect((await rig.finish({ ...ann, queues: ["other"] }, id, verb)).kind).toBe("notfound");
    }
    expect(await rig.todos.read(rig.agent, id, ["other"], 0)).toBeUndefined();
    expect(await rig.todos.messages(rig.agent, id, ["other"], 0)).toBeUndefined();
  });

  it("SB-15 a heartbeat sets the lease anew from now, on the record and where the sweep looks", async () => {
    const id = await rig.todo();
    await rig.take(ann, id, 1000);
    await rig.todos.heartbeat(rig.agent, id, ann, 3_600_000);
    const lease = Number(await rig.field(id, "lease"));
    expect(lease - (await rig.now())).toBeGreaterThan(3_590_000);
    const score = await rig.run("ZSCORE", rig.key("queue", "default", "leased"), id);
    expect(Number(score)).toBe(lease);
    const { attempts } = await rig.read(id);
    expect(attempts).toHaveLength(1);
    expect(attempts[0]?.lastHeartbeatAt).toBeGreaterThan(0);
    expect(await rig.audit(id)).toHaveLength(2);
  });

  it.each([
    ["by queue", undefined],
    ["by id", "id"],
  ])(
    "SB-16 without any sweep a lapsed lease is taken over by a claim %s; the stale worker conflicts",
    async (_, by) => {
      const id = await rig.todo();
      await rig.take(ann, id);
      await rig.lapse(id);
      expect(await rig.claim(ben, by === undefined ? {} : { id })).toMatchObject({
        kind: "claimed",
        todo: { id, attempt: 2 },
      });
      expect((await rig.finish(ann, id, "complete")).kind).toBe("conflict");
      expect((await rig.todos.heartbeat(rig.agent, id, ann, 1000)).kind).toBe("conflict");
      const { attempts } = await rig.read(id);
      expect(attempts.map(({ outcome, disposition }) => [outcome, disposition])).toEqual([
        [undefined, undefined],
        ["lease_expired", "requeued"],
      ]);
    },
  );

  it("SB-16 the sweep requeues below the cap and dead-letters at the cap", async () => {
    const id = await rig.todo({ maxAttempts: 2 });
    await rig.take(ann, id);
    await rig.lapse(id);
    expect(await rig.sweep()).toBeGreaterThan(0);
    expect(await rig.state(id)).toBe("pending");
    await rig.take(ben, id);
    await rig.lapse(id);
    await rig.sweep();
    expect(await rig.state(id)).toBe("failed");
    expect((await rig.claim(ann, { id })).kind).toBe("conflict");
    const { attempts } = await rig.read(id);
    expect(attempts.map(({ outcome, disposition }) => `${outcome}/${disposition}`)).toEqual([
      "reaped/dead_lettered",
      "reaped/requeued",
    ]);
    expect((await rig.audit(id)).map(({ event, actor }) => `${event} by ${actor}`)).toEqual([
      "create by sender",
      "claim by ann",
      "lease_requeue by system",
      "claim by ben",
      "lease_dead by system",
    ]);
  });

  it("SB-16 a claim that finds only exhausted work dead-letters it", async () => {
    const id = await rig.todo({ maxAttempts: 1 });
    await rig.take(ann, id);
    await rig.lapse(id);
    expect((await rig.claim(ben)).kind).toBe("empty");
    expect(await rig.a2aState(id)).toBe("FAILED");
  });

  it("SB-16 sweeps at once change each todo once", async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => rig.todo()));
    for (const id of ids) {
      await rig.take(ann, id);
      await rig.lapse(id);
    }
    await Promise.all(Array.from({ length: 8 }, () => rig.sweep()));
    for (const id of ids) expect((await rig.log(id)).last).toBe(3);
  });

  it("SB-25 with a fence only the token's hash is stored, and a token that is not the attempt's conflicts", async () => {
    const id = await rig.todo();
    const fenced = { ...ann, fence: "hash-of-first" };
    await rig.take(fenced, id);
    expect(await rig.field(id, "fence")).toBe("hash-of-first");
    for (const stale of [ann, { ...ann, fence: "hash-of-other" }]) {
      expect((await rig.finish(stale, id, "complete")).kind).toBe("conflict");
      expect((await rig.todos.heartbeat(rig.agent, id, stale, 1000)).kind).toBe("conflict");
      expect((await rig.interrupt(stale, id)).kind).toBe("conflict");
    }
    await rig.lapse(id);
    // The same endpoint, another of its workers.
    await rig.take({ ...ann, fence: "hash-of-second" }, id);
    const before = await rig.read(id);
    expect((await rig.finish(fenced, id, "complete")).kind).toBe("conflict");
    expect(await rig.read(id)).toEqual(before);
    expect((await rig.finish({ ...ann, fence: "hash-of-second" }, id, "complete")).kind).toBe("ok");
  });

  it("SB-25 a token on an attempt without a fence conflicts, also after a fenced attempt before it", async () => {
    const id = await rig.todo();
    await rig.take({ ...ann, fence: "old" }, id);
    await rig.finish({ ...ann, fence: "old" }, id, "release");
    await rig.take(ann, id);
    expect((await rig.finish({ ...ann, fence: "old" }, id, "complete")).kind).toBe("conflict");
    expect((await rig.finish(ann, id, "complete")).kind).toBe("ok");
  });

  it("SB-72 an empty queue says when its next work is due", async () => {
    expect(await rig.claim(ann)).toEqual({ kind: "empty", nextDueMs: undefined });
    const id = await rig.todo();
    await rig.take(ann, id, 5000);
    const empty = await rig.claim(ben);
    expect(empty.kind === "empty" && empty.nextDueMs).toBeGreaterThan(4000);
    expect(empty.kind === "empty" && empty.nextDueMs).toBeLessThanOrEqual(5000);
  });
});
