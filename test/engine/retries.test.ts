import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
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

/** Lets the time of a parked retry have come one millisecond ago. */
async function due(id: string): Promise<void> {
  await rig.setField(id, "nb", (await rig.now()) - 1, "delayed");
}

/** Fails the todo, claimed by ann; answers the delay of its retry in milliseconds, or the state. */
async function failOnce(id: string, backoff = { baseMs: 30_000, capMs: 900_000, jitter: 0 }) {
  const before = await rig.now();
  const result = await rig.finish(ann, id, "fail", { backoff, reason: "it broke" });
  const after = await rig.now();
  if (result.kind !== "ok") throw new Error(result.kind);
  const { notBefore, state } = result.todo;
  if (notBefore === undefined) return { state, low: 0, high: 0 };
  return { state, low: notBefore - after, high: notBefore - before };
}

describe("retries", () => {
  it("SB-17 delays of 30, 60, 120, 240 s, and the fifth failure is a dead letter", async () => {
    const id = await rig.todo();
    for (const seconds of [30, 60, 120, 240]) {
      await rig.take(ann, id);
      const { state, low, high } = await failOnce(id);
      expect(state).toBe("pending");
      expect(low).toBeLessThanOrEqual(seconds * 1000);
      expect(high).toBeGreaterThanOrEqual(seconds * 1000);
      await due(id);
    }
    await rig.take(ann, id);
    expect((await failOnce(id)).state).toBe("failed");
    const { attempts } = await rig.read(id);
    expect(attempts.map(({ outcome, disposition }) => `${outcome}/${disposition}`)).toEqual([
      "failed/dead_lettered",
      ...Array.from({ length: 4 }, () => "failed/retry_scheduled"),
    ]);
  });

  it("SB-17 the delay never passes its cap", async () => {
    const id = await rig.todo({ maxAttempts: 12 });
    let last = { low: 0, high: 0 };
    for (let i = 0; i < 8; i += 1) {
      await rig.take(ann, id);
      last = await failOnce(id);
      await due(id);
    }
    expect(last.low).toBeLessThanOrEqual(900_000);
    expect(last.high).toBeGreaterThanOrEqual(900_000);
  });

  it("SB-17 jitter takes away a share of the delay, at most the configured one, and not always the same", async () => {
    const delays = new Set<number>();
    for (let i = 0; i < 12; i += 1) {
      const id = await rig.todo();
      await rig.take(ann, id);
      const { low, high } = await failOnce(id, { baseMs: 30_000, capMs: 900_000, jitter: 0.5 });
      expect(low).toBeGreaterThanOrEqual(15_000 - 100);
      expect(high).toBeLessThanOrEqual(30_100);
      delays.add(Math.round(low / 500));
    }
    expect(delays.size).toBeGreaterThan(3);
  });

  it("SB-18 not claimable before its time, claimable at it without any sweep", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    await rig.finish(ann, id, "fail", { backoff: { baseMs: 400, capMs: 400, jitter: 0 } });
    const notBefore = Number(await rig.field(id, "nb"));
    const early = await rig.claim(ann);
    expect(early.kind).toBe("empty");
    expect(early.kind === "empty" && early.nextDueMs).toBeLessThanOrEqual(400);
    expect((await rig.claim(ann, { id })).kind).toBe("conflict");
    for (;;) {
      const result = await rig.claim(ann);
      if (result.kind === "claimed") {
        expect(result.todo.id).toBe(id);
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const claimedAt = Number((await rig.read(id)).attempts[0]?.claimedAt);
    expect(claimedAt).toBeGreaterThanOrEqual(notBefore);
    expect(claimedAt).toBeLessThan(notBefore + 100);
    expect(await rig.field(id, "nb")).toBeNull();
  });

  it("SB-18 by id as well: at its time, without any sweep", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    await failOnce(id);
    await due(id);
    expect(await rig.claim(ann, { id })).toMatchObject({ kind: "claimed", todo: { attempt: 2 } });
  });

  it("SB-50 Q1 a parked retry is SUBMITTED and tells its attempt, budget, time and failure in the metadata", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    await failOnce(id);
    const { task } = await rig.task(id);
    expect(await rig.a2aState(id)).toBe("SUBMITTED");
    expect(task.metadata?.baton).toMatchObject({ attempt: 1, maxAttempts: 5, lastFailure: "it broke" });
    const notBefore = new Date(Number(await rig.field(id, "nb"))).toISOString();
    expect(task.metadata?.baton).toMatchObject({ notBefore });
  });

  it("SB-19 a dead letter only returns by an explicit retry, which resets the attempt and keeps the history", async () => {
    const id = await rig.todo({ maxAttempts: 2 });
    for (let i = 0; i < 2; i += 1) {
      await rig.take(ann, id);
      await failOnce(id);
      if (i === 0) await due(id);
    }
    expect(await rig.state(id)).toBe("failed");
    await rig.sweep();
    expect((await rig.claim(ann)).kind).toBe("empty");
    expect((await rig.claim(ann, { id })).kind).toBe("conflict");
    const dead = await rig.todos.dead(rig.agent, ["default"], { before: undefined, limit: 10 });
    expect(dead.map(({ todo, reason }) => [todo.id, reason])).toEqual([[id, "it broke"]]);

    const retried = await rig.todos.retry(rig.agent, id, "operator");
    expect(retried).toMatchObject({ kind: "ok", todo: { state: "pending", attempt: 0 } });
    expect(await rig.todos.dead(rig.agent, ["default"], { before: undefined, limit: 10 })).toEqual([]);
    expect(await rig.claim(ann)).toMatchObject({
      kind: "claimed",
      todo: { id, attempt: 1, attemptSeq: 3 },
    });
    expect((await rig.read(id)).attempts.map(({ seq }) => seq)).toEqual([3, 2, 1]);
    expect((await rig.audit(id)).filter(({ event }) => event === "retry")).toMatchObject([
      { actor: "operator", from: "failed", to: "pending" },
    ]);
  });

  it("SB-19 a permanent failure is a dead letter at once", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    await rig.finish(ann, id, "fail", { permanent: true });
    expect(await rig.state(id)).toBe("failed");
  });

  it("SB-19 dead letters are listed with the latest death first, by queue, and page on", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      const id = await rig.todo({ queue: i === 2 ? "other" : "default" });
      await rig.take({ ...ann, queues: ["default", "other"] }, id);
      await rig.finish({ ...ann, queues: ["default", "other"] }, id, "fail", { permanent: true });
      ids.unshift(id);
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    const all = await rig.todos.dead(rig.agent, ["default", "other"], { before: undefined, limit: 10 });
    expect(all.map(({ todo }) => todo.id)).toEqual(ids);
    const first = await rig.todos.dead(rig.agent, ["default", "other"], { before: undefined, limit: 2 });
    expect(first.map(({ todo }) => todo.id)).toEqual(ids.slice(0, 2));
    const next = await rig.todos.dead(rig.agent, ["default", "other"], {
      before: first.at(-1)?.diedAt,
      limit: 10,
    });
    expect(next.map(({ todo }) => todo.id)).toEqual(ids.slice(2));
    const one = await rig.todos.dead(rig.agent, ["other"], { before: undefined, limit: 10 });
    expect(one.map(({ todo }) => todo.queue)).toEqual(["other"]);
  });
});

describe("attempts", () => {
  it("SB-24 each claim opens one attempt, each end of a lease closes it with outcome and disposition", async () => {
    const id = await rig.todo({ maxAttempts: 9 });
    await rig.take(ann, id);
    await rig.finish(ann, id, "release");
    await rig.take(ann, id);
    await failOnce(id);
    await due(id);
    await rig.take(ann, id);
    await rig.lapse(id);
    await rig.take(ann, id);
    await rig.lapse(id);
    await rig.sweep();
    await rig.take(ann, id);
    await rig.interrupt(ann, id);
    await rig.reply(id);
    await rig.finish(ann, id, "complete", { summary: "all good", artifact: "https://example.com/a" });
    const { attempts, todo } = await rig.read(id);
    expect(todo.attemptSeq).toBe(5);
    expect(
      [...attempts].reverse().map(({ seq, outcome, disposition }) => `${seq} ${outcome}/${disposition}`),
    ).toEqual([
      "1 released/requeued",
      "2 failed/retry_scheduled",
      "3 lease_expired/requeued",
      "4 reaped/requeued",
      "5 completed/done",
    ]);
    expect(attempts[0]).toMatchObject({ summary: "all good", artifact: "https://example.com/a" });
    for (const attempt of attempts) expect(attempt.endedAt).toBeGreaterThanOrEqual(attempt.claimedAt);
  });

  it.each([
    [50, 53],
    [5, 9],
  ])(
    "SB-24 of a todo that remembers %i attempts, after %i claims the oldest are gone and counted",
    async (keep, claims) => {
      const small = await engine.rig(keep);
      const id = await small.todo();
      for (let i = 0; i < claims; i += 1) {
        await small.take(ann, id);
        await small.finish(ann, id, "release");
      }
      const { attempts, todo } = await small.read(id);
      expect(attempts).toHaveLength(keep);
      expect(attempts.map(({ seq }) => seq)).toEqual(
        Array.from({ length: keep }, (_, index) => claims - index),
      );
      expect(todo).toMatchObject({ attemptSeq: claims, attemptsPruned: claims - keep });
    },
  );

  it("SB-24 a claim shows the newest closed attempts before it, at most five", async () => {
    const id = await rig.todo();
    for (let i = 0; i < 7; i += 1) {
      await rig.take(ann, id);
      await rig.finish(ann, id, "release", { summary: `try ${i + 1}` });
    }
    const result = await rig.claim(ann);
    expect(result.kind === "claimed" && result.prior.map(({ summary }) => summary)).toEqual(
      [7, 6, 5, 4, 3].map((n) => `try ${n}`),
    );
  });
});
