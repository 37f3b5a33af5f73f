/** What waits and what was given up is bounded by bytes, and the sums that the bounds go by are exact. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ArtifactSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LaneHead, LaneTurn } from "../../src/store/push-lanes.ts";
import { randomOf } from "./crash/points.ts";
import { open, receiver, rigOf } from "./opened.ts";
import { quiet, respond } from "./receiver.ts";
import { AGENT, caller, type PushRig } from "./rig.ts";

const PREFIX = `baton:{${AGENT}}:`;
const LANE_BYTES = 32 * 1024 * 1024;
const DEAD_BYTES = 64 * 1024 * 1024;
const OUTBOX_BYTES = 64 * 1024 * 1024;
const LARGE = 3_600_000;

const sum = (sizes: readonly number[]) => sizes.reduce((all, size) => all + size, 0);

/** What is in Redis, each thing measured, beside the sums that the scripts keep. */
async function booksOf({ connection }: PushRig) {
  const run = (...command: string[]) => connection.run(PREFIX, command);
  const list = async (...command: string[]) => (await run(...command)) as Buffer[];
  const lanes = new Map<string, { readonly entries: number[]; readonly kept: number }>();
  for (const key of await list("KEYS", `${PREFIX}lane:*`)) {
    const name = String(key).replace(/:q$/, "");
    const entries = (await list("LRANGE", `${name}:q`, "0", "-1")).map(({ length }) => length);
    lanes.set(name, { entries, kept: Number((await run("HGET", name, "bytes")) ?? 0) });
  }
  const dead = new Map<string, number>();
  for (const id of await list("ZRANGE", `${PREFIX}push-dead`, "0", "-1")) {
    dead.set(String(id), Number(await run("HSTRLEN", `${PREFIX}push-dead:${id}`, "bytes")));
  }
  const flat = (await list("HGETALL", `${PREFIX}push-dead-bytes`)).map(String);
  const keptDead = new Map<string, number>();
  for (let i = 0; i < flat.length; i += 2) keptDead.set(String(flat[i]), Number(flat[i + 1]));
  const outbox = ((await run("XRANGE", `${PREFIX}outbox`, "-", "+")) as unknown as [Buffer, Buffer[]][]).map(
    ([, fields]) => {
      const at = (name: string) => fields[fields.findIndex((field) => String(field) === name) + 1]?.length;
      return { event: at("e") ?? 0, whole: at("w") ?? 0 };
    },
  );
  const keptOutbox = Number((await run("HGET", `${PREFIX}outbox-held`, "bytes")) ?? 0);
  return { lanes, dead, keptDead, outbox, keptOutbox };
}

async function checkBooks(rig: PushRig, limits: { readonly lane: number; readonly dead: number }) {
  const { lanes, dead, keptDead, outbox, keptOutbox } = await booksOf(rig);
  for (const [name, { entries, kept }] of lanes) {
    expect([name, kept]).toEqual([name, sum(entries)]);
    if (entries.length > 1) expect(kept).toBeLessThanOrEqual(limits.lane);
  }
  const all = sum([...dead.values()]);
  expect(keptDead.get("all") ?? 0).toBe(all);
  keptDead.delete("all");
  expect(keptDead).toEqual(dead);
  if (dead.size > 1) expect(all).toBeLessThanOrEqual(limits.dead);
  expect(keptOutbox).toBe(sum(outbox.map(({ event, whole }) => event + whole)));
  return { lanes, dead, outbox };
}

/** A task with much in it, made by one worker, that grows by a byte at a time. */
async function largeTask(rig: PushRig, url: string) {
  const id = await rig.begin({ url }, "0.3");
  await rig.claim(id);
  await rig.artifact(id, "x".repeat(LARGE));
  const holder = { id: "worker-1", name: "worker", queues: ["default"], fence: "" };
  const artifact = create(ArtifactSchema, {
    artifactId: "result",
    parts: [{ content: { case: "text", value: "y" } }],
  });
  const grow = () => rig.todos.progress(AGENT, id, holder, { artifact, append: true, lastChunk: false });
  return { id, grow };
}

async function memoryOf({ connection }: PushRig): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(String(await connection.run("x", ["INFO", "memory"])))?.[1]);
}

const seqs = (hits: readonly { readonly seq: number }[]) => hits.map(({ seq }) => seq);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe("sums", () => {
  it.each([1, 2, 3])("D1 stay exact whatever is done in whatever order (seed %i)", async (seed) => {
    const limits = { lane: 3000, dead: 5000 };
    const rig = await rigOf({
      start: false,
      push: { laneBytes: limits.lane, deadLetterBytes: limits.dead, deadLetterCount: 12, laneDepth: 6 },
    });
    const random = randomOf(seed);
    const below = (n: number) => Math.floor(random() * n);
    const pick = <T>(of: readonly T[]): T | undefined => of[below(of.length)];
    const { lanes, deadLetters, configs } = rig.push;
    const turns = new Map<string, LaneTurn>();
    const known = (more: readonly LaneTurn[]) => {
      for (const turn of more) turns.set(turn.ref, turn);
    };
    const tasks: string[] = [];
    const seen = new Set<string>();
    const letters = async () => (await deadLetters.list(AGENT, { limit: 100 })).map(({ id }) => id);
    const settlements = ["delivered", "delivered", "dead", "retry", "wait"] as const;

    async function work(turn: LaneTurn): Promise<void> {
      let state = await lanes.take(AGENT, turn, "me");
      while (state.kind === "head") {
        const verb = pick(settlements) ?? "dead";
        const { seq }: LaneHead = state;
        const noted = { note: "{}", log: "" };
        const settlement =
          verb === "wait"
            ? ({ verb, waitMs: 0, reserved: false } as const)
            : verb === "retry"
              ? ({ verb, waitMs: 0, ...noted } as const)
              : verb === "dead"
                ? ({ verb, reason: "status_final", ...noted } as const)
                : ({ verb, log: "" } as const);
        state = await lanes.settle(AGENT, turn.ref, "me", seq, settlement);
        seen.add(`${verb} ${state.kind}`);
      }
    }
    const steps: Record<string, () => Promise<void>> = {
      async begin() {
        const id = await rig.begin({ url: "https://127.0.0.1:8443/" }, pick(["1.0", "0.3"]));
        await rig.claim(id);
        tasks.push(id);
      },
      async register() {
        const id = pick(tasks);
        const who = caller(pick(["endpoint-1", "endpoint-2"]));
        // Another's task is not its to be told of, and a task takes five.
        if (id)
          await rig.register(id, { url: "https://127.0.0.1:8443/", id: "c" }, who, "0.3").catch(() => "");
      },
      async artifact() {
        const id = pick(tasks);
        if (id) await rig.artifact(id, "é".repeat(below(700)));
      },
      async say() {
        const id = pick(tasks);
        if (id) await rig.say(id, "word ".repeat(below(40)));
      },
      async relay() {
        known((await lanes.relay(AGENT)).turns);
      },
      async work() {
        const turn = pick([...turns.values()]);
        if (turn) await work(turn);
      },
      async replay() {
        const ids = (await letters()).filter(() => below(2) === 0);
        const { replayed, refused, turns: more } = await deadLetters.replay(AGENT, ids, "operator");
        expect(replayed + refused).toBe(ids.length);
        if (replayed > 0) seen.add("replayed");
        if (refused > 0) seen.add("refused");
        known(more);
      },
      async purge() {
        const id = pick(await letters());
        if (id) expect(await deadLetters.purge(AGENT, [id, "all", id])).toBe(1);
      },
      async remove() {
        const viewer = { id: "endpoint-1", shared: false, queues: ["default"] };
        const id = below(4) === 0 && pick(tasks);
        const [config] = (id && (await configs.list(AGENT, id, viewer))) || [];
        if (id && config) await configs.delete(AGENT, id, viewer, config.id, "client");
      },
      async revoke() {
        if (below(15) === 0)
          seen.add(`revoked ${(await configs.revokeOwner(AGENT, "endpoint-1", "operator")) > 0}`);
      },
      async complete() {
        const id = below(4) === 0 && pick(tasks);
        if (!id) return;
        tasks.splice(tasks.indexOf(id), 1);
        await rig.complete(id);
      },
    };
    const often = ["artifact", "artifact", "artifact", "say", "relay", "relay", "work"];
    const names = [...Object.keys(steps), ...often];
    for (let i = 0; i < 500; i++) {
      const name = pick(names) ?? "relay";
      if (name === "begin" && tasks.length > 3) continue;
      await steps[name]?.();
      await checkBooks(rig, limits);
      for (const { reason } of await deadLetters.list(AGENT, { limit: 100 })) seen.add(reason);
    }
    for (const what of ["delivered head", "dead head", "retry waiting", "lane_full", "replayed", "refused"]) {
      expect(seen).toContain(what);
    }
    // To the end: what was still waiting is delivered, and no sum is left.
    while ((await lanes.relay(AGENT)).more);
    expect((await checkBooks(rig, limits)).outbox).toEqual([]);
    await configs.revokeOwner(AGENT, "endpoint-1", "operator");
    await configs.revokeOwner(AGENT, "endpoint-2", "operator");
    expect((await checkBooks(rig, limits)).lanes.size).toBe(0);
    await deadLetters.purge(AGENT, await letters());
    expect(await booksOf(rig)).toMatchObject({ keptDead: new Map([["all", 0]]), keptOutbox: 0 });
  });

  it("a letter that its own time took is counted off by the next one", async () => {
    const hook = await receiver({ answer: respond(400) });
    const rig = await rigOf({ push: { deadLetterSeconds: 1 } });
    await rig.begin({ url: hook.url });
    await hook.until(1);
    await quiet(1200);
    await rig.begin({ url: hook.url });
    await hook.until(2);
    await quiet(200);
    const { dead } = await checkBooks(rig, { lane: LANE_BYTES, dead: DEAD_BYTES });
    expect(dead.size).toBe(1);
  });
});

describe("lanes", () => {
  it("sixty bytes more on a task of 3.6 MB stay bounded where the receiver fails; what waited goes out in order", async () => {
    const rig = await rigOf({
      push: { attempts: 100, capSeconds: 0.5, baseSeconds: 0.5, breaker: { failures: 10_000 } },
    });
    const hook = await receiver({ answer: respond(503) });
    const { id, grow } = await largeTask(rig, hook.url);
    const before = await memoryOf(rig);
    for (let i = 0; i < 60; i++) expect((await grow()).kind).toBe("ok");
    let books = await checkBooks(rig, { lane: LANE_BYTES, dead: DEAD_BYTES });
    for (let i = 0; i < 200 && books.outbox.length > 0; i++) {
      await quiet(50);
      books = await checkBooks(rig, { lane: LANE_BYTES, dead: DEAD_BYTES });
    }
    const [lane] = books.lanes.values();
    const waiting = lane?.entries.length ?? 0;
    // As many large ones as fit, after the two before the artifact.
    const fit = Math.floor(LANE_BYTES / LARGE);
    expect(waiting).toBe(2 + fit);
    expect(books.dead.size).toBe(Math.floor(DEAD_BYTES / LARGE));
    // Both bounds, and what an allocator rounds up; without them it is 225 MB.
    expect((await memoryOf(rig)) - before).toBeLessThan((LANE_BYTES + DEAD_BYTES) * 1.3);
    const letters = await rig.push.deadLetters.list(AGENT, { taskId: id, limit: 100 });
    expect(new Set(letters.map(({ reason }) => reason))).toEqual(new Set(["lane_full"]));
    expect(seqs(letters).sort((a, b) => a - b)).toEqual(range(63 - letters.length + 1, 63));

    // Nothing comes back to a lane that is full.
    const failed = hook.hits.length;
    const ids = letters.map(({ id: letter }) => letter);
    expect(await rig.push.deadLetters.replay(AGENT, ids, "operator")).toEqual({
      replayed: 0,
      refused: ids.length,
      turns: [],
    });
    hook.answer = respond(204);
    await hook.until(failed + waiting, 20_000);
    await quiet(300);
    expect([...new Set(seqs(hook.hits))]).toEqual(range(1, waiting));
    // An empty one has no room for all of them either: the oldest come back, the others stay.
    const again = await rig.push.deadLetters.replay(AGENT, ids, "operator");
    expect(again).toMatchObject({ replayed: fit, refused: ids.length - fit });
    await rig.push.queue(AGENT, again.turns);
    await hook.until(failed + waiting + fit, 20_000);
    expect(seqs(hook.hits).slice(-fit)).toEqual(range(63 - letters.length + 1, 63 - letters.length + fit));
    await quiet(200);
    expect(
      (await checkBooks(rig, { lane: LANE_BYTES, dead: DEAD_BYTES })).lanes.values().next().value,
    ).toEqual({
      entries: [],
      kept: 0,
    });
  }, 60_000);

  it("an empty lane takes a push that is larger than its bound, and then no other", async () => {
    const rig = await rigOf({ push: { laneBytes: 1, attempts: 100, baseSeconds: 0.1 } });
    const hook = await receiver({ answer: respond(503) });
    const id = await rig.begin({ url: hook.url });
    await hook.until(1);
    await rig.claim(id);
    await quiet(200);
    const letters = await rig.push.deadLetters.list(AGENT, { taskId: id, limit: 10 });
    expect(letters).toMatchObject([{ seq: 2, reason: "lane_full", attempts: 0 }]);
    hook.answer = respond(204);
    await quiet(500);
    expect(new Set(seqs(hook.hits))).toEqual(new Set([1]));
  });
});

describe("outbox", () => {
  it("D1, FR-56 holds no more Tasks than its bound where nobody relays; each event is pushed all the same, in order", async () => {
    const idle = await rigOf({ start: false, push: { laneBytes: 1024 ** 3 } });
    const hook = await receiver();
    const { grow } = await largeTask(idle, hook.url);
    const before = await memoryOf(idle);
    for (let i = 0; i < 30; i++) expect((await grow()).kind).toBe("ok");
    const limits = { lane: 1024 ** 3, dead: DEAD_BYTES };
    const { outbox } = await checkBooks(idle, limits);
    expect(sum(outbox.map(({ whole }) => whole))).toBeLessThanOrEqual(OUTBOX_BYTES);
    const full = 2 + Math.floor(OUTBOX_BYTES / LARGE);
    expect(outbox.map(({ whole }) => whole > 0)).toEqual(range(1, 33).map((seq) => seq <= full));
    expect((await memoryOf(idle)) - before).toBeLessThan(OUTBOX_BYTES * 1.3);

    // There is room again, but those that were recorded without their Task are still before this one.
    expect(await idle.push.lanes.relay(AGENT)).toMatchObject({ more: true });
    await grow();
    expect((await checkBooks(idle, limits)).outbox.at(-1)).toEqual({ event: 0, whole: 0 });

    const worker = await idle.replica({ start: true });
    open.push({ close: () => worker.stop() });
    await hook.until(34, 40_000);
    expect(seqs(hook.hits)).toEqual(range(1, 34));
    const sizes = hook.hits.map(({ body }) => body.length);
    expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
    const parts = hook.hits.map(({ body }) => JSON.parse(body).artifacts?.[0].parts.length ?? 0);
    // As it was at the event, and from the first that was recorded without as it was when it was relayed.
    expect(parts).toEqual(range(1, 34).map((seq) => (seq <= full ? Math.max(0, seq - 2) : 32)));

    // Empty: Tasks are recorded with their events again.
    await worker.stop();
    open.pop();
    await grow();
    expect((await checkBooks(idle, limits)).outbox).toEqual([{ event: 0, whole: expect.any(Number) }]);
    expect((await booksOf(idle)).keptOutbox).toBeGreaterThan(LARGE);
  }, 60_000);
});
