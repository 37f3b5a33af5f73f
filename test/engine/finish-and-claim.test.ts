import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NextClaim } from "../../src/store/todo-records.ts";
import { type Engine, holder, Rig, startEngine } from "./rig.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await startEngine();
});
afterAll(() => engine?.stop());

function next(options: Partial<NextClaim> = {}): NextClaim {
  return { queue: "default", claimant: "ann-1", fence: "", ttlMs: 60_000, ...options };
}

const ann = holder("ann");

describe("an attempt that ends and the claim that follows", () => {
  it("SB-26 are one call of one script", async () => {
    const rig = await engine.rig();
    const [first, second] = [await rig.todo(), await rig.todo()];
    await rig.take(ann, first);
    await rig.run("CONFIG", "RESETSTAT");
    const result = await rig.finish(ann, first, "complete", {}, next());
    const stats = String(await rig.run("INFO", "commandstats"));
    const calls = [...stats.matchAll(/^cmdstat_(eval|evalsha):calls=(\d+).*failed_calls=(\d+)/gm)];
    // The first call of a script that Redis does not know yet is answered so, and made again with its text.
    expect(calls.reduce((sum, [, , all, failed]) => sum + Number(all) - Number(failed), 0)).toBe(1);
    expect(result).toMatchObject({
      kind: "ok",
      todo: { id: first, state: "done" },
      next: {
        kind: "claimed",
        todo: { id: second, state: "claimed", claimant: "ann-1", attempt: 1 },
        prior: [],
      },
    });
  });

  it("SB-12 SB-18 as a claim of its own would: due retries, earlier attempts, the time of the next work", async () => {
    const rig = await engine.rig();
    const [retried, held] = [await rig.todo(), await rig.todo()];
    await rig.take(ann, retried);
    await rig.finish(ann, retried, "fail", { backoff: { baseMs: 60_000, capMs: 60_000, jitter: 0 } });
    await rig.take(ann, held);
    const early = await rig.finish(ann, held, "complete", {}, next());
    if (early.kind !== "ok" || early.next?.kind !== "empty") throw new Error("there was nothing to claim");
    expect(early.next.nextDueMs).toBeGreaterThan(50_000);
    expect(early.next.nextDueMs).toBeLessThanOrEqual(60_000);

    const another = await rig.todo();
    await rig.take(ann, another);
    await rig.setField(retried, "nb", 1, "delayed");
    expect(await rig.finish(ann, another, "complete", {}, next())).toMatchObject({
      next: { kind: "claimed", todo: { id: retried, attempt: 2 }, prior: [{ seq: 1, outcome: "failed" }] },
    });
  });

  it("SB-13 the next lease has a fence of its own, in a queue of its own", async () => {
    const rig = await engine.rig();
    const both = holder("both", { queues: ["default", "other"], fence: "one" });
    const [first, elsewhere] = [await rig.todo(), await rig.todo({ queue: "other" })];
    await rig.take(both, first);
    const result = await rig.finish(both, first, "complete", {}, next({ queue: "other", fence: "two" }));
    expect(result).toMatchObject({ next: { kind: "claimed", todo: { id: elsewhere, queue: "other" } } });
    expect(await rig.finish(both, elsewhere, "complete")).toEqual({ kind: "conflict" });
    expect(await rig.finish({ ...both, fence: "two" }, elsewhere, "complete")).toMatchObject({ kind: "ok" });
  });

  it("a refused completion claims nothing", async () => {
    const rig = await engine.rig();
    const [first, second] = [await rig.todo(), await rig.todo()];
    await rig.take(ann, first);
    expect(await rig.finish(holder("ben"), first, "complete", {}, next())).toEqual({ kind: "conflict" });
    expect(await rig.state(second)).toBe("pending");
  });

  it("SB-26 a claim that breaks takes nothing of the completion back, and hides nothing of it", async () => {
    const rig = await engine.rig();
    const both = holder("both", { queues: ["default", "other"] });
    const first = await rig.todo();
    await rig.take(both, first);
    // No set: whatever the claim asks of it is an error of Redis.
    await rig.run("SET", rig.key("queue", "other", "delayed"), "broken");
    const result = await rig.finish(both, first, "complete", { summary: "well" }, next({ queue: "other" }));
    expect(result).toMatchObject({ kind: "ok", todo: { state: "done" }, next: { kind: "empty" } });
    const { todo, attempts } = await rig.read(first);
    expect(attempts).toMatchObject([{ outcome: "completed", disposition: "done", summary: "well" }]);
    expect(await rig.log(first)).toEqual({ count: todo.seq, last: todo.seq });
    expect((await rig.audit(first)).map(({ event }) => event)).toEqual(["create", "claim", "complete"]);
    await rig.run("DEL", rig.key("queue", "other", "delayed"));
  });

  it("SB-10 SB-24 workers on two connections that go on from one to the next meet no todo twice and miss none", async () => {
    const rig = await engine.rig();
    const replica = new Rig(await engine.server.connect(), 50, rig.agent);
    const ids = await Promise.all(Array.from({ length: 300 }, () => rig.todo()));
    const done: string[] = [];
    const drain = async (side: Rig, name: string) => {
      const me = holder(name);
      const first = await side.claim(me);
      let id = first.kind === "claimed" ? first.todo.id : undefined;
      while (id !== undefined) {
        const ended = await side.finish(me, id, "complete", {}, next({ claimant: name }));
        expect(ended.kind).toBe("ok");
        done.push(id);
        id = ended.kind === "ok" && ended.next?.kind === "claimed" ? ended.next.todo.id : undefined;
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, i) => drain(i % 2 === 0 ? rig : replica, `w${i}`)));
    expect(done.toSorted()).toEqual(ids.toSorted());
    for (const id of ids) expect((await rig.read(id)).attempts).toHaveLength(1);
  });
});
