import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { TASK_STATE_OF, TODO_STATES, type TodoState } from "../../src/domain/todo.ts";
import { agentSays, stateName, textOf } from "./client.ts";
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

/** A todo in each state, with ann as its holder where it has one. */
const INTO: Readonly<Record<TodoState, (id: string) => Promise<unknown>>> = {
  pending: async () => {},
  claimed: (id) => rig.take(ann, id),
  "input-required": async (id) => {
    await rig.take(ann, id);
    await rig.interrupt(ann, id);
  },
  "auth-required": async (id) => {
    await rig.take(ann, id);
    await rig.interrupt(ann, id, "require_auth");
  },
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

/** Everything that can be asked of a todo, and the word of the answer that it went through. */
const ACTS: Readonly<Record<string, (id: string) => Promise<{ readonly kind: string }>>> = {
  claim: (id) => rig.claim(ben, { id }),
  heartbeat: (id) => rig.todos.heartbeat(rig.agent, id, ann, 60_000),
  complete: (id) => rig.finish(ann, id, "complete"),
  fail: (id) => rig.finish(ann, id, "fail"),
  release: (id) => rig.finish(ann, id, "release"),
  reject: (id) => rig.finish(ann, id, "reject"),
  "require input": (id) => rig.interrupt(ann, id),
  "require auth": (id) => rig.interrupt(ann, id, "require_auth"),
  progress: (id) => rig.todos.progress(rig.agent, id, ann, { message: agentSays("half") }),
  message: (id) => rig.reply(id),
  cancel: (id) => rig.cancel(id),
  retry: (id) => rig.todos.retry(rig.agent, id, "operator"),
};

/** todo-delegation.md 1.3 as a table of this test's own: where each act leads from each state. */
const LEGAL: Readonly<Record<string, Partial<Record<TodoState, TodoState>>>> = {
  claim: { pending: "claimed" },
  heartbeat: {
    claimed: "claimed",
    "input-required": "input-required",
    "auth-required": "auth-required",
  },
  complete: { claimed: "done" },
  fail: { claimed: "pending" },
  release: { claimed: "pending", "input-required": "pending", "auth-required": "pending" },
  reject: { claimed: "rejected" },
  "require input": { claimed: "input-required" },
  "require auth": { claimed: "auth-required" },
  progress: { claimed: "claimed", "auth-required": "claimed" },
  message: {
    pending: "pending",
    claimed: "claimed",
    "input-required": "claimed",
    "auth-required": "claimed",
  },
  cancel: {
    pending: "canceled",
    claimed: "canceled",
    "input-required": "canceled",
    "auth-required": "canceled",
  },
  retry: { failed: "pending" },
};
const WENT_THROUGH = new Set(["ok", "claimed", "accepted", "canceled"]);

describe("transitions", () => {
  const cases = TODO_STATES.flatMap((from) => Object.keys(ACTS).map((act) => [from, act] as const));
  it.each(cases)("SB-9 from %s: %s does what the table says and nothing else", async (from, act) => {
    const id = await rig.todo();
    await INTO[from](id);
    expect(await rig.state(id)).toBe(from);
    const before = { ...(await rig.read(id)), audit: await rig.audit(id), log: await rig.log(id) };
    const to = LEGAL[act]?.[from];
    const result = await ACTS[act]?.(id);
    if (to === undefined) {
      expect(result?.kind).toMatch(/^(conflict|terminal)$/);
      const after = { ...(await rig.read(id)), audit: await rig.audit(id), log: await rig.log(id) };
      expect(after).toEqual(before);
    } else {
      expect(WENT_THROUGH.has(result?.kind ?? "")).toBe(true);
      expect(await rig.state(id)).toBe(to);
      expect((await rig.task(id)).state).toBe(TASK_STATE_OF[to]);
    }
  });

  it.each(Object.keys(ACTS))("SB-9 %s of a todo that never was is not found", async (act) => {
    expect((await ACTS[act]?.("td_never"))?.kind).toBe("notfound");
  });

  it("SB-6 the task is what the todo says at that moment, with no record of its own", async () => {
    const id = await rig.todo();
    for (const [act, state] of [
      [() => rig.take(ann, id), "WORKING"],
      [() => rig.interrupt(ann, id), "INPUT_REQUIRED"],
      [() => rig.reply(id), "WORKING"],
      [() => rig.finish(ann, id, "complete"), "COMPLETED"],
    ] as const) {
      await act();
      expect(await rig.a2aState(id)).toBe(state);
    }
    const keys = (await rig.run("KEYS", `*task:${id}*`)) as Buffer[];
    const kinds = keys.map((key) => String(key).split(id)[1]).sort();
    expect(kinds).toEqual(["", ":attempts", ":history", ":log", ":trail"]);
  });

  it("SB-8 work refused at intake is rejected from the start: attempt 0, not claimable, no retry", async () => {
    const { snapshot } = await rig.create({ rejectWith: agentSays("too large") });
    const { id } = snapshot.task;
    expect(stateName(snapshot.state)).toBe("REJECTED");
    expect(textOf(snapshot.task.status?.message)).toBe("too large");
    expect((await rig.read(id)).todo.attempt).toBe(0);
    expect((await rig.claim(ann)).kind).toBe("empty");
    expect((await rig.claim(ann, { id })).kind).toBe("conflict");
    expect((await rig.todos.retry(rig.agent, id, "operator")).kind).toBe("conflict");
    expect((await rig.audit(id)).map(({ event, actor }) => `${event} by ${actor}`)).toEqual([
      "create by sender",
      "reject by policy",
    ]);
  });

  it("SB-26 each transition leaves one audit entry with its actor, and one event with the next number", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    await rig.interrupt(ann, id);
    await rig.reply(id);
    await rig.finish(ann, id, "fail", { permanent: true });
    await rig.todos.retry(rig.agent, id, "operator");
    await rig.cancel(id);
    expect(
      (await rig.audit(id)).map(({ event, actor, from, to, seq }) => [event, actor, from, to, seq]),
    ).toEqual([
      ["create", "sender", "", "pending", "1"],
      ["claim", "ann", "pending", "claimed", "2"],
      ["require_input", "ann", "claimed", "input-required", "3"],
      ["reply", "sender", "input-required", "claimed", "4"],
      ["fail_dead", "ann", "claimed", "failed", "5"],
      ["retry", "operator", "failed", "pending", "6"],
      ["cancel", "sender", "pending", "canceled", "7"],
    ]);
    expect(await rig.log(id)).toEqual({ count: 7, last: 7 });
    expect((await rig.read(id)).todo.seq).toBe(7);
  });

  it("SB-20 a release returns to pending at once and neither spends nor resets the attempt", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    await rig.finish(ann, id, "fail", { backoff: { baseMs: 0, capMs: 0, jitter: 0 } });
    await rig.take(ann, id);
    const released = await rig.finish(ann, id, "release", { summary: "not my day" });
    expect(released).toMatchObject({
      kind: "ok",
      todo: { state: "pending", attempt: 2, notBefore: undefined },
    });
    expect(await rig.claim(ben)).toMatchObject({ kind: "claimed", todo: { id, attempt: 2, attemptSeq: 3 } });
    const { attempts } = await rig.read(id);
    expect(attempts[1]).toMatchObject({
      outcome: "released",
      disposition: "requeued",
      summary: "not my day",
    });
  });

  it("SB-38 cancel clears holder and lease, closes the attempt, keeps the reason", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    const result = await rig.cancel(id);
    expect(result).toMatchObject({ kind: "canceled" });
    for (const name of ["holder", "lease", "fence", "claimant"]) expect(await rig.field(id, name)).toBeNull();
    const { attempts } = await rig.read(id);
    expect(attempts[0]).toMatchObject({ outcome: "canceled", disposition: "canceled" });
    expect(textOf((await rig.task(id)).task.status?.message)).toBe("not needed");
    expect(await rig.run("ZCARD", rig.key("queue", "default", "leased"))).toBe(0);
  });

  it("SB-38 a retry that waits for its time can be canceled, and is not claimable after it", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    await rig.finish(ann, id, "fail");
    expect((await rig.cancel(id)).kind).toBe("canceled");
    expect(await rig.run("ZCARD", rig.key("queue", "default", "delayed"))).toBe(0);
    expect(await rig.claim(ben)).toEqual({ kind: "empty", nextDueMs: undefined });
  });

  it("SB-39 a second cancel succeeds and changes nothing", async () => {
    const id = await rig.todo();
    const first = await rig.cancel(id);
    const second = await rig.cancel(id);
    expect(second.kind).toBe("terminal");
    expect(second.kind !== "notfound" && first.kind !== "notfound" && second.snapshot).toEqual(
      first.kind !== "notfound" && first.snapshot,
    );
    expect((await rig.log(id)).last).toBe(2);
    expect(await rig.audit(id)).toHaveLength(2);
  });

  it("SB-33 a foreign todo answers cancel and message exactly as one that never was, and is not touched", async () => {
    const id = await rig.todo();
    const before = await rig.read(id);
    for (const target of [id, "td_never"]) {
      expect(await rig.cancel(target, "ep_other")).toEqual({ kind: "notfound" });
      expect(await rig.reply(target, { owner: "ep_other" })).toEqual({ kind: "notfound" });
    }
    expect(await rig.read(id)).toEqual(before);
  });
});
