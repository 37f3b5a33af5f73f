import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ArtifactSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { WHOLE_TASK } from "../../src/store/tasks.ts";
import { agentSays, textOf } from "./client.ts";
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

/** One todo in each of the four terminal states. */
async function ended(): Promise<Record<"done" | "failed" | "canceled" | "rejected", string>> {
  const [done, failed, canceled, rejected] = await Promise.all([1, 2, 3, 4].map(() => rig.todo()));
  const ids = { done: done ?? "", failed: failed ?? "", canceled: canceled ?? "", rejected: rejected ?? "" };
  for (const id of [ids.done, ids.failed, ids.rejected]) await rig.take(ann, id);
  await rig.finish(ann, ids.done, "complete", {
    artifacts: [create(ArtifactSchema, { artifactId: "a1" })],
  });
  await rig.finish(ann, ids.failed, "fail", { permanent: true });
  await rig.finish(ann, ids.rejected, "reject");
  await rig.cancel(ids.canceled);
  return ids;
}

async function keysOf(id: string): Promise<string[]> {
  return ((await rig.run("KEYS", `*${id}*`)) as Buffer[]).map(String);
}

/** Every sorted set of the agent that still names the todo. */
async function mentions(id: string): Promise<string[]> {
  const keys = ((await rig.run("KEYS", `${rig.key()}*`)) as Buffer[]).map(String);
  const found: string[] = [];
  for (const key of keys) {
    if (String(await rig.run("TYPE", key)) !== "zset") continue;
    if ((await rig.run("ZSCORE", key, id)) !== null) found.push(key);
  }
  return found;
}

describe("revocation", () => {
  it("SB-27 pending, claimed, interrupted and parked todos of the endpoint all fail with endpoint_revoked", async () => {
    const ids = await Promise.all([1, 2, 3, 4, 5].map(() => rig.todo()));
    const [, claimed = "", asking = "", authing = "", parked = ""] = ids;
    for (const id of [claimed, asking, authing, parked]) await rig.take(ann, id);
    await rig.interrupt(ann, asking);
    await rig.interrupt(ann, authing, "require_auth");
    await rig.finish(ann, parked, "fail");
    const others = await rig.todo({ owner: "ep_other" });
    const finished = await ended();
    expect(await rig.revoke()).toBe(5);
    for (const id of ids) {
      const { todo, attempts } = await rig.read(id);
      expect(todo).toMatchObject({ state: "failed", notBefore: undefined });
      for (const attempt of attempts) expect(attempt.endedAt, id).toBeGreaterThan(0);
      const { task } = await rig.task(id);
      expect(textOf(task.status?.message)).toBe("revoked");
      expect((await rig.audit(id)).at(-1)).toMatchObject({
        event: "revoke",
        actor: "operator",
        to: "failed",
      });
      if (id !== ids[0]) expect(task.metadata?.baton).toMatchObject({ lastFailure: "endpoint_revoked" });
    }
    for (const id of [claimed, asking, authing]) {
      const { attempts } = await rig.read(id);
      expect(attempts[0]).toMatchObject({ outcome: "revoked", disposition: "dead_lettered" });
    }
    expect(await rig.state(others)).toBe("pending");
    for (const [state, id] of Object.entries(finished)) expect(await rig.state(id)).toBe(state);
    expect(await rig.claim(ann)).toMatchObject({ kind: "claimed", todo: { id: others } });
    expect((await rig.claim(ann)).kind).toBe("empty");
    expect((await rig.finish(ann, claimed, "complete")).kind).toBe("conflict");
    expect(await rig.revoke()).toBe(0);
  });

  it("SB-27 more todos than one round takes are all ended", async () => {
    await Promise.all(Array.from({ length: 250 }, () => rig.todo()));
    expect(await rig.revoke()).toBe(250);
    expect((await rig.claim(ann)).kind).toBe("empty");
  });
});

describe("retention", () => {
  it("Q23 all four terminal kinds go when they are old enough, with every trace; open work never does", async () => {
    const ids = await ended();
    const open = await Promise.all([rig.todo(), rig.todo(), rig.todo()]);
    await rig.take(ann, open[1] ?? "");
    await rig.take(ann, open[2] ?? "");
    await rig.interrupt(ann, open[2] ?? "");
    const month = 2_592_000_000;
    const old = (await rig.now()) - month;
    for (const id of Object.values(ids)) await rig.run("ZADD", rig.key("terminal"), String(old + 60_000), id);
    await rig.sweep();
    for (const id of Object.values(ids)) expect((await keysOf(id)).length).toBeGreaterThan(0);
    for (const id of Object.values(ids)) await rig.run("ZADD", rig.key("terminal"), String(old - 1), id);
    await rig.sweep();
    for (const id of Object.values(ids)) {
      expect((await keysOf(id)).filter((key) => !key.includes(":idx:"))).toEqual([]);
      expect(await mentions(id)).toEqual([]);
      await expect(rig.task(id)).rejects.toThrow("no task");
    }
    for (const id of open) expect((await rig.read(id)).todo.id).toBe(id);
    await rig.sweep({ retentionMs: 0, maxEnded: 0 });
    for (const id of open) expect((await rig.read(id)).todo.id).toBe(id);
    const page = await rig.tasks.list(rig.agent, {
      scopes: ["e:ep_sender"],
      contextId: "",
      state: undefined,
      statusAfter: undefined,
      pageSize: 100,
      shape: WHOLE_TASK,
      cursor: undefined,
    });
    expect(page.tasks.map(({ id }) => id).sort()).toEqual([...open].sort());
  });

  it("Q23 past the row cap the ones that ended first go first", async () => {
    const order: string[] = [];
    for (let i = 0; i < 8; i += 1) {
      const id = await rig.todo();
      await rig.cancel(id);
      await rig.run("ZADD", rig.key("terminal"), String((await rig.now()) - 1000 + i), id);
      order.push(id);
    }
    const open = await rig.todo();
    await rig.sweep({ maxEnded: 3 });
    for (const [index, id] of order.entries())
      expect((await keysOf(id)).length > 0, `${index}`).toBe(index >= 5);
    expect(await rig.state(open)).toBe("pending");
  });

  it("Q23 SB-21 a message whose task retention took makes a new task, and the old answer is not needed for it", async () => {
    const id = await rig.todo({ messageKey: "m" });
    await rig.cancel(id);
    await rig.run("ZADD", rig.key("terminal"), "1", id);
    await rig.sweep();
    const again = await rig.create({ messageKey: "m", bodyHash: "other" });
    expect(again.kind).toBe("created");
  });

  it("Q23 a dead letter that is retried in time is kept", async () => {
    const { failed } = await ended();
    await rig.run("ZADD", rig.key("terminal"), "1", failed);
    await rig.todos.retry(rig.agent, failed, "operator");
    await rig.sweep();
    expect(await rig.state(failed)).toBe("pending");
  });
});

describe("bounds", () => {
  it("a task log that outgrew its bound still answers reads, with the newest events", async () => {
    const id = await rig.todo();
    await rig.take(ann, id);
    for (let i = 0; i < 1200; i += 1) {
      await rig.todos.progress(rig.agent, id, ann, { message: agentSays(`${i}`) });
    }
    const { count, last } = await rig.log(id);
    expect(last).toBe(1202);
    expect(count).toBeLessThan(1202);
    expect(textOf((await rig.task(id)).task.status?.message)).toBe("1199");
  });
});
