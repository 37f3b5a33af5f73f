import { spawn } from "node:child_process";
import { afterEach, describe, expect, it } from "vitest";
import { type MortalRedis, startMortalRedis } from "./crash/redis.ts";
import { type PushReceiver, quiet, respond, startPushReceiver, testAuthority } from "./receiver.ts";
import { AGENT, type PushRig, startRig } from "./rig.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function setUp(): Promise<{ redis: MortalRedis; rig: PushRig; hook: PushReceiver }> {
  const redis = await startMortalRedis();
  open.push({ close: () => redis.stop() });
  const rig = await startRig({ redis });
  open.push({ close: () => rig.stop() });
  const hook = await startPushReceiver();
  open.push(hook);
  return { redis, rig, hook };
}

/** Tries until Redis is there again. */
async function eventually<T>(step: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await step();
    } catch (error) {
      if (tries > 100) throw error;
      await quiet(50);
    }
  }
}

describe("Redis goes away", () => {
  it.each([
    ["B2 3 s", 3000],
    ["B1 12 s", 12_000],
  ])(
    "%s: the same worker goes on, and the first push is not late",
    async (_name, ms) => {
      const { redis, rig, hook } = await setUp();
      await rig.begin({ url: hook.url });
      await hook.until(1);
      await redis.crash(ms);
      const back = Date.now();
      for (let i = 0; i < 3; i++) await eventually(() => rig.begin({ url: hook.url }));
      await hook.until(4, 10_000);
      expect(Date.now() - back).toBeLessThan(4000);
    },
    60_000,
  );

  it("B7 a retry that was due during the outage is made after it", async () => {
    const { redis, rig, hook } = await setUp();
    hook.answer = respond(503, { "retry-after": "2" });
    const id = await rig.begin({ url: hook.url });
    await hook.until(1);
    await quiet(100);
    hook.answer = respond(204);
    await redis.crash(3000);
    const hits = await hook.until(2, 10_000);
    expect(hits[1]?.headers).toMatchObject({
      "a2a-notification-id": `${id}/1`,
      "a2a-notification-attempt": "2",
    });
  });

  it("B4, E16 the blocking connection alone is cut: the worker fetches again", async () => {
    const { rig, hook } = await setUp();
    await rig.begin({ url: hook.url });
    await hook.until(1);
    await quiet(200);
    const clients = String(await rig.connection.run("x", ["CLIENT", "LIST"]));
    const blocked = [...clients.matchAll(/^id=(\d+) .*cmd=bzpopmin/gm)].map(([, id]) => id ?? "");
    expect(blocked).toHaveLength(1);
    for (const id of blocked) await rig.connection.run("x", ["CLIENT", "KILL", "ID", id]);
    for (let i = 0; i < 3; i++) await rig.begin({ url: hook.url });
    await hook.until(4, 5000);
    expect(await rig.push.problems()).toEqual([]);
  });

  it("a lane whose job is lost is found by its due time and queued again", async () => {
    const { rig, hook } = await setUp();
    hook.answer = respond(503, { "retry-after": "1" });
    await rig.begin({ url: hook.url });
    await hook.until(1);
    await quiet(100);
    hook.answer = respond(204);
    const keys = (await rig.connection.run("x", ["KEYS", "{baton-push}:lanes:*"])) as Buffer[];
    for (const key of keys.map(String)) {
      if (/lanes-|delayed|wait|prioritized|marker/.test(key)) await rig.connection.run(key, ["DEL", key]);
    }
    // Its wait, its lease, and the next round of the relay.
    await hook.until(2, 15_000);
    expect(rig.push.metrics.value("baton_push_requeued_total")).toBeGreaterThan(0);
  });

  it("B11 an eviction policy is warned of", async () => {
    const { redis, rig } = await setUp();
    await rig.connection.run("x", ["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    const late = await startRig({ redis });
    open.push({ close: () => late.stop() });
    expect(late.log).toContainEqual(
      expect.objectContaining({ level: "warn", message: expect.stringContaining("noeviction") }),
    );
    expect(rig.log.some(({ message }) => message.includes("noeviction"))).toBe(false);
  });
});

describe("leases", () => {
  it("B8, D5 a lane has one holder; one that was away too long cannot record an outcome", async () => {
    const { redis, hook } = await setUp();
    const rig = await startRig({
      redis,
      start: false,
      push: { timeoutSeconds: 0.05 },
      agents: { quiet: {}, default: {} },
    });
    open.push({ close: () => rig.stop() });
    const { lanes } = rig.push;
    const agent = "quiet";
    // By hand, on an agent that no worker serves.
    await rig.connection.run("x", [
      "XADD",
      "baton:{quiet}:outbox",
      "*",
      "t",
      "task-1",
      "s",
      "1",
      "m",
      String(Date.now()),
      "c",
      "ref-1",
      "d",
      "",
      "e",
      "",
      "w",
      "",
    ]);
    await rig.connection.run("x", [
      "HSET",
      "baton:{quiet}:push:task-1",
      "ref-1",
      JSON.stringify({ id: "c", owner: "o", url: hook.url, host: "h:1", version: "1.0", createdAt: 0 }),
    ]);
    const { turns } = await lanes.relay(agent);
    const [turn] = turns;
    if (turn === undefined) throw new Error("no lane");
    expect(await lanes.take(agent, turn, "first")).toMatchObject({ kind: "head", seq: 1 });
    expect(await lanes.take(agent, turn, "second")).toMatchObject({ kind: "busy" });
    await quiet(3300);
    // The sweep starts a new turn for a lane whose holder is gone, and the old job is out of date.
    const [next] = await lanes.due(agent);
    expect(next).toEqual({ ref: "ref-1", gen: turn.gen + 1 });
    expect(await lanes.take(agent, turn, "second")).toEqual({ kind: "stale" });
    if (next === undefined) throw new Error("no turn");
    expect(await lanes.take(agent, next, "second")).toMatchObject({ kind: "head", seq: 1 });
    expect(await lanes.settle(agent, "ref-1", "first", 1, { verb: "delivered", log: "" })).toEqual({
      kind: "fenced",
    });
    expect(await lanes.settle(agent, "ref-1", "second", 1, { verb: "delivered", log: "" })).toEqual({
      kind: "empty",
    });
  });

  it("D1, OW-47 a lane at rest keeps its config while the last event of its task is still in the outbox", async () => {
    const redis = await startMortalRedis();
    open.push({ close: () => redis.stop() });
    const rig = await startRig({ redis, start: false });
    open.push({ close: () => rig.stop() });
    const { lanes } = rig.push;
    const id = await rig.begin({ url: "https://127.0.0.1:8443/" });
    const [turn] = (await lanes.relay(AGENT)).turns;
    if (turn === undefined) throw new Error("no lane");
    await rig.cancel(id);
    expect(await lanes.take(AGENT, turn, "me")).toMatchObject({ kind: "head", seq: 1 });
    expect(await lanes.settle(AGENT, turn.ref, "me", 1, { verb: "delivered", log: "" })).toEqual({
      kind: "empty",
    });
    const [next] = (await lanes.relay(AGENT)).turns;
    expect(next).toEqual({ ref: turn.ref, gen: turn.gen + 1 });
    if (next === undefined) throw new Error("the last push was lost");
    expect(await lanes.take(AGENT, next, "me")).toMatchObject({ kind: "head", seq: 2 });
    await lanes.settle(AGENT, turn.ref, "me", 2, { verb: "delivered", log: "" });
    const viewer = { id: "endpoint-1", shared: false, queues: [] };
    expect(await rig.push.configs.list(AGENT, id, viewer)).toEqual([]);
  });
});

describe("a process that ends", () => {
  it("D13 start, one push, stop: nothing is left open and it exits by itself, at once", async () => {
    const redis = await startMortalRedis();
    open.push({ close: () => redis.stop() });
    const hook = await startPushReceiver();
    open.push(hook);
    const source = `
      import { attachRedis } from ${JSON.stringify(new URL("./crash/redis.ts", import.meta.url).href)};
      import { startRig } from ${JSON.stringify(new URL("./rig.ts", import.meta.url).href)};
      const rig = await startRig({ redis: await attachRedis(process.env.SOCKET), ca: process.env.CA });
      await rig.begin({ url: process.env.HOOK });
      while (rig.push.metrics.value("baton_push_outcomes_total") === 0) await new Promise((r) => setTimeout(r, 10));
      await rig.push.stop();
      await rig.connection.close();
      console.log(Date.now());
      process.on("exit", (code) => console.log(Date.now(), code, process.getActiveResourcesInfo().join()));
    `;
    const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
      env: { ...process.env, SOCKET: redis.server.socketPath, CA: testAuthority().ca, HOOK: hook.url },
    });
    let out = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    let err = "";
    child.stderr.on("data", (chunk) => {
      err += chunk;
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(err).toBe("");
    expect(code).toBe(0);
    const [stopped, ended] = out.trim().split("\n");
    expect(Number(ended?.split(" ")[0]) - Number(stopped)).toBeLessThan(1000);
  });
});

describe("stopping without Redis", () => {
  it("B14 ends in bounded time", async () => {
    const redis = await startMortalRedis();
    const rig = await startRig({ redis });
    const hook = await startPushReceiver();
    open.push(hook);
    await rig.begin({ url: hook.url });
    await hook.until(1);
    process.kill(redis.server.pid, "SIGKILL");
    await quiet(200);
    const started = Date.now();
    await rig.push.stop(200);
    expect(Date.now() - started).toBeLessThan(4000);
    await redis.stop();
  });
});
