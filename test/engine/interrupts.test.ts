import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { agentSays, textOf } from "./client.ts";
import { type Engine, holder, type Rig, startEngine } from "./rig.ts";

let engine: Engine;
let rig: Rig;
const ann = holder("ann");
const ben = holder("ben");
const KINDS = ["require_input", "require_auth"] as const;

beforeAll(async () => {
  engine = await startEngine();
});
afterAll(() => engine?.stop());
beforeEach(async () => {
  rig = await engine.rig();
});

/** Lets the interrupt have begun so many milliseconds earlier. */
async function waited(id: string, ms: number): Promise<void> {
  await rig.setField(id, "since", (await rig.now()) - ms, "waiting");
}

describe.each(KINDS)("%s", (event) => {
  it("SB-28 keeps holder, lease, attempt and the open attempt record", async () => {
    const id = await rig.todo();
    await rig.take({ ...ann, fence: "f" }, id);
    const before = await rig.read(id);
    await rig.interrupt({ ...ann, fence: "f" }, id, event);
    const after = await rig.read(id);
    for (const name of ["claimant", "lease", "attempt", "attemptSeq"] as const) {
      expect(after.todo[name]).toBe(before.todo[name]);
    }
    expect(after.attempts).toEqual(before.attempts);
    expect(await rig.field(id, "holder")).toBe(ann.id);
    expect(await rig.field(id, "fence")).toBe("f");
  });

  it("SB-29 an answer goes back to the same holder and attempt, and nobody could claim in between", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    await rig.interrupt(ann, id, event);
    const claims = Promise.all(Array.from({ length: 20 }, () => rig.claim(ben, { id })));
    const reply = rig.reply(id);
    const more = Promise.all(Array.from({ length: 20 }, () => rig.claim(ben)));
    expect((await reply).kind).toBe("accepted");
    for (const { kind } of await claims) expect(kind).toBe("conflict");
    for (const { kind } of await more) expect(kind).toBe("empty");
    const { todo } = await rig.read(id);
    expect(todo).toMatchObject({ state: "claimed", attempt: 1, attemptSeq: 1, claimant: "ann" });
    expect((await rig.audit(id)).at(-1)).toMatchObject({ event: "reply", actor: "sender" });
    expect((await rig.finish(ann, id, "complete")).kind).toBe("ok");
  });

  it("SB-30 its message is the status of the task, and becomes history when the answer comes", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    await rig.todos.interrupt(rig.agent, id, ann, event, agentSays("which colour?"));
    expect(textOf((await rig.task(id)).task.status?.message)).toBe("which colour?");
    await rig.reply(id, { text: "blue" });
    const { task } = await rig.task(id);
    expect(task.status?.message).toBeUndefined();
    expect(task.history.map(textOf)).toEqual(["work", "which colour?", "blue"]);
  });

  it("SB-31 the lease stands still: neither sweep nor claim takes the todo, and the answer gives the span back", async () => {
    const id = await rig.todo();
    await rig.take(ann, id, 10_000);
    await rig.interrupt(ann, id, event);
    const lease = Number(await rig.field(id, "lease"));
    // An hour passes: the lease of ten seconds would be long gone.
    await rig.setField(id, "lease", lease - 3_600_000);
    await waited(id, 3_600_000);
    await rig.sweep();
    expect((await rig.claim(ben)).kind).toBe("empty");
    expect(await rig.state(id)).toBe(event === "require_input" ? "input-required" : "auth-required");
    await rig.reply(id);
    const renewed = Number(await rig.field(id, "lease"));
    expect(renewed - lease).toBeGreaterThanOrEqual(0);
    expect(renewed - lease).toBeLessThan(1000);
    expect(Number(await rig.run("ZSCORE", rig.key("queue", "default", "leased"), id))).toBe(renewed);
  });

  it("SB-31 a heartbeat meanwhile renews the length of the lease, counted from the answer on", async () => {
    const id = await rig.todo();
    await rig.take(ann, id, 10_000);
    await rig.interrupt(ann, id, event);
    await waited(id, 500_000);
    expect((await rig.todos.heartbeat(rig.agent, id, ann, 60_000)).kind).toBe("ok");
    expect((await rig.claim(ben)).kind).toBe("empty");
    await rig.reply(id);
    const left = Number(await rig.field(id, "lease")) - (await rig.now());
    expect(left).toBeGreaterThan(59_000);
    expect(left).toBeLessThanOrEqual(60_000);
  });

  it("SB-31 at the limit it fails with interrupt_timeout, without a retry; before it and with limit 0 it waits on", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    await rig.interrupt(ann, id, event);
    await waited(id, 59_000);
    await rig.sweep({ interruptLimitMs: 60_000 });
    expect(await rig.state(id)).not.toBe("failed");
    await waited(id, 61_000);
    await rig.sweep({ interruptLimitMs: 0 });
    expect(await rig.state(id)).not.toBe("failed");
    await rig.sweep({ interruptLimitMs: 60_000 });
    const { todo, attempts } = await rig.read(id);
    expect(todo).toMatchObject({ state: "failed", notBefore: undefined, attempt: 1 });
    expect(attempts[0]).toMatchObject({ outcome: "interrupt_timeout", disposition: "dead_lettered" });
    expect((await rig.task(id)).task.metadata?.baton).toMatchObject({ lastFailure: "interrupt_timeout" });
    expect((await rig.audit(id)).at(-1)).toMatchObject({ event: "interrupt_timeout", actor: "system" });
    expect((await rig.finish(ann, id, "complete")).kind).toBe("conflict");
    expect((await rig.claim(ben, { id })).kind).toBe("conflict");
  });

  it.each(["release", "cancel", "revoke"] as const)(
    "Q14 %s works from here and ends the attempt",
    async (act) => {
      const id = await rig.todo();
      await rig.take(ann, id);
      await rig.interrupt(ann, id, event);
      if (act === "release") await rig.finish(ann, id, "release");
      else if (act === "cancel") await rig.cancel(id);
      else await rig.revoke();
      const expected = { release: "pending", cancel: "canceled", revoke: "failed" }[act];
      const { todo, attempts } = await rig.read(id);
      expect(todo.state).toBe(expected);
      expect(attempts[0]?.endedAt).toBeGreaterThan(0);
      for (const name of ["holder", "lease", "since"]) expect(await rig.field(id, name)).toBeNull();
      expect(await rig.run("ZCARD", rig.key("queue", "default", "waiting"))).toBe(0);
      expect((await rig.claim(ben)).kind).toBe(act === "release" ? "claimed" : "empty");
    },
  );
});

describe("messages", () => {
  it("Q14 a message to a pending or claimed todo is kept and changes no state", async () => {
    const id = await rig.todo();
    await rig.reply(id, { text: "one more thing" });
    expect(await rig.state(id)).toBe("pending");
    await rig.take(ann, id);
    await rig.reply(id, { text: "and another" });
    expect(await rig.state(id)).toBe("claimed");
    const found = await rig.todos.messages(rig.agent, id, ["default"], 0);
    expect(found?.messages.map(textOf)).toEqual(["work", "one more thing", "and another"]);
    expect(found?.position).toBe(3);
    const later = await rig.todos.messages(rig.agent, id, ["default"], 2);
    expect(later?.messages.map(textOf)).toEqual(["and another"]);
    expect((await rig.audit(id)).filter(({ event }) => event === "message")).toHaveLength(2);
  });

  it("A2A-97 the holder goes on by itself where the authorization came another way", async () => {
    const id = await rig.todo();
    await rig.take(ann, id, 10_000);
    await rig.interrupt(ann, id, "require_auth");
    await waited(id, 3_600_000);
    const progress = { message: agentSays("I was let in") };
    expect((await rig.todos.progress(rig.agent, id, ann, progress)).kind).toBe("ok");
    expect(await rig.state(id)).toBe("claimed");
    expect(Number(await rig.field(id, "lease"))).toBeGreaterThan(await rig.now());
    expect((await rig.audit(id)).at(-1)).toMatchObject({ event: "resume", actor: "ann" });
  });

  it("SB-28 progress does not lift a question to the client", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    await rig.interrupt(ann, id);
    expect((await rig.todos.progress(rig.agent, id, ann, { message: agentSays("hm") })).kind).toBe(
      "conflict",
    );
  });
});
