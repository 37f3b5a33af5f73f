import { describe, expect, it } from "vitest";
import { connectRedis } from "../../src/store/connect-redis.ts";
import { freePorts, Servers } from "../cluster/servers.ts";
import { holder, Rig } from "./rig.ts";

/** What must agree about one todo, whatever moment the server died at. */
async function checkWhole(rig: Rig, id: string): Promise<void> {
  const { todo, attempts } = await rig.read(id);
  const log = await rig.log(id);
  const audit = await rig.audit(id);
  expect(log, "the log ends where the record stands").toEqual({ count: todo.seq, last: todo.seq });
  expect(audit.length, "one audit entry for each event").toBe(todo.seq);
  expect(audit.at(-1)?.to).toBe(todo.state);
  const open = attempts.filter(({ endedAt }) => endedAt === undefined);
  const held = ["claimed", "input-required", "auth-required"].includes(todo.state);
  expect(open.length, "an attempt is open exactly while the todo is held").toBe(held ? 1 : 0);
  for (const attempt of attempts) expect(attempt.endedAt === undefined).toBe(attempt.outcome === undefined);
  expect(todo.attemptSeq).toBe(attempts.length);
  const place = { pending: ["ready", "delayed"], claimed: ["leased"], "input-required": ["waiting"] }[
    todo.state
  ];
  const found: string[] = [];
  for (const part of ["ready", "delayed", "leased", "waiting", "dead"]) {
    if ((await rig.run("ZSCORE", rig.key("queue", "default", part), id)) !== null) found.push(part);
  }
  expect(found.length).toBe(place === undefined ? (todo.state === "failed" ? 1 : 0) : 1);
  if (place !== undefined) expect(place).toContain(found[0]);
}

describe("a server that is killed", () => {
  it("SB-24 SB-26 leaves each transition whole or not at all, and keeps every one that was answered", async () => {
    const servers = new Servers();
    const [port = 0] = await freePorts(1);
    const server = await servers.start(port, ["--appendonly", "yes", "--appendfsync", "everysec"]);
    const target = { kind: "single", url: `redis://127.0.0.1:${port}` } as const;
    const redis = await connectRedis({ target, onError: () => {} });
    const rig = new Rig(redis);
    const answered = new Map<string, string>();
    let kills = 0;
    let stopped = false;
    const work = Array.from({ length: 6 }, async (_, i) => {
      const me = holder(`w${i}`);
      while (!stopped) {
        try {
          const id = await rig.todo();
          answered.set(id, "pending");
          // From here on nobody else can know what it came to while a call is under way.
          const acts = [
            ["claimed", () => rig.take(me, id)],
            ["input-required", () => rig.interrupt(me, id)],
            ["claimed", () => rig.reply(id)],
            [
              i % 2 === 0 ? "done" : "failed",
              () =>
                i % 2 === 0
                  ? rig.finish(me, id, "complete")
                  : rig.finish(me, id, "fail", { permanent: true }),
            ],
          ] as const;
          for (const [state, act] of acts) {
            answered.set(id, "?");
            await act();
            answered.set(id, state);
          }
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    });
    try {
      for (; kills < 5; kills += 1) {
        const before = answered.size;
        while (answered.size < before + 40) await new Promise((resolve) => setTimeout(resolve, 5));
        await server.kill();
        await server.restart();
      }
      stopped = true;
      await Promise.all(work);
      expect(answered.size).toBeGreaterThan(150);
      for (const [id, state] of answered) {
        await checkWhole(rig, id);
        if (state !== "?") expect(await rig.state(id), id).toBe(state);
      }
    } finally {
      stopped = true;
      await redis.close();
      await servers.stop();
    }
  }, 90_000);

  it("SB-24 SB-26 amid completions that claim the next: none is undone, no todo is lost or held by two", async () => {
    const servers = new Servers();
    const [port = 0] = await freePorts(1);
    const server = await servers.start(port, ["--appendonly", "yes", "--appendfsync", "everysec"]);
    const target = { kind: "single", url: `redis://127.0.0.1:${port}` } as const;
    const connections = await Promise.all([1, 2].map(() => connectRedis({ target, onError: () => {} })));
    const rigs = connections.map((redis) => new Rig(redis, 50, "crash"));
    const [rig] = rigs;
    if (rig === undefined) throw new Error("no connection");
    const ids = await Promise.all(Array.from({ length: 400 }, () => rig.todo()));
    const completed = new Set<string>();
    const given = new Map<string, string>();
    let stopped = false;
    const work = Array.from({ length: 8 }, async (_, i) => {
      const side = rigs[i % 2] ?? rig;
      const me = holder(`w${i}`);
      const next = { queue: "default", claimant: me.name, fence: "", ttlMs: 600_000 };
      const take = (id: string) => {
        expect(given.get(id), `${id} was given out before`).toBeUndefined();
        given.set(id, me.name);
        return id;
      };
      let id: string | undefined;
      while (!stopped) {
        try {
          if (id === undefined) {
            const claimed = await side.claim(me);
            id = claimed.kind === "claimed" ? take(claimed.todo.id) : undefined;
          }
          if (id === undefined) break;
          const ending: string = id;
          // Where no answer comes, what came of it is seen afterwards.
          id = undefined;
          const ended = await side.finish(me, ending, "complete", {}, next);
          expect(ended.kind).toBe("ok");
          completed.add(ending);
          if (ended.kind === "ok" && ended.next?.kind === "claimed") id = take(ended.next.todo.id);
        } catch (error) {
          if (error instanceof Error && error.name === "AssertionError") throw error;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    });
    try {
      for (let kills = 0; kills < 4; kills += 1) {
        const before = completed.size;
        while (completed.size < before + 40) await new Promise((resolve) => setTimeout(resolve, 2));
        await server.kill();
        await server.restart();
      }
      stopped = true;
      await Promise.all(work);
      for (const id of ids) {
        await checkWhole(rig, id);
        const { todo, attempts } = await rig.read(id);
        if (completed.has(id)) expect(todo.state, id).toBe("done");
        if (todo.state === "pending") expect(given.has(id), id).toBe(false);
        expect(attempts.length, id).toBe(todo.state === "pending" ? 0 : 1);
      }
    } finally {
      stopped = true;
      await Promise.all(connections.map((redis) => redis.close()));
      await servers.stop();
    }
  }, 90_000);
});
