import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SUBMIT_VERBS } from "../../src/domain/caller.ts";
import { connectRedis } from "../../src/store/connect-redis.ts";
import type { RedisConnection } from "../../src/store/connection.ts";
import { queueChannel } from "../../src/store/keys.ts";
import { channelNotification } from "../../src/transports/mcp/channel.ts";
import { startTestGateway, type TestGateway, type VendOptions } from "../gateway.ts";
import { startTestRedis } from "../redis-server.ts";
import { type TestClient, testClient } from "../worker/client.ts";
import { openSession, startBareDoor } from "./bare-door.ts";
import { connectMcp, type Notification, RawMcp, type Stream } from "./rig.ts";

/** A client with its stream open. */
interface Listener {
  readonly raw: RawMcp;
  readonly session: string;
  readonly stream: Stream;
  tool(name: string, args?: Record<string, unknown>): Promise<Record<string, unknown>>;
}

async function listen(url: string, credential: string): Promise<Listener> {
  const raw = new RawMcp(url, credential);
  const session = await raw.session();
  const stream = await raw.listen(session);
  return {
    raw,
    session,
    stream,
    async tool(name, args) {
      const { isError, text } = await raw.tool(session, name, args);
      if (isError) throw new Error(text);
      return JSON.parse(text) as Record<string, unknown>;
    },
  };
}

/** Waits for so many notifications, and a moment longer for one too many. */
async function rings(stream: Stream, count: number, quietMs = 200): Promise<Notification[]> {
  const until = Date.now() + 8000;
  while (stream.notifications.length < count && Date.now() < until) await sleep(10);
  await sleep(quietMs);
  expect(stream.notifications.map(({ params }) => params.content)).toHaveLength(count);
  return stream.notifications.splice(0);
}

let gateway: TestGateway;
let client: TestClient;
let redis: RedisConnection;
const open: Stream[] = [];

const worker = async (options?: VendOptions) => {
  const listener = await listen(gateway.url, await gateway.vendWorker(options));
  open.push(listener.stream);
  return listener;
};
/** Everybody leaves, so that the next test has the queue to itself. */
async function quiet(): Promise<void> {
  for (const stream of open.splice(0)) {
    stream.close();
    await stream.ended;
  }
  await sleep(50);
}

beforeAll(async () => {
  gateway = await startTestGateway({
    agents: { main: { queues: ["default", "reviews"], defaultQueue: "default" }, other: {} },
    defaultAgent: "main",
    retries: { baseSeconds: 1, capSeconds: 1 },
  });
  client = testClient(gateway.url, await gateway.vend());
  redis = await connectRedis({
    target: { kind: "socket", path: join(gateway.dataDir, "redis", "redis.sock") },
  });
});
afterAll(async () => {
  await quiet();
  client.close();
  await redis.close();
  await gateway.stop();
});

describe("the doorbell", () => {
  it("SB-73 says which todo, on which queue, in one line, and nothing else", async () => {
    const { stream } = await worker();
    const id = await client.send("Fix the roof\nby Friday, the code is 1234");
    const [ring] = await rings(stream, 1);
    expect(ring).toEqual({
      jsonrpc: "2.0",
      method: "notifications/claude/channel",
      params: {
        content: `baton: todo ${id} ready on queue "default" — Fix the roof`,
        meta: { event: "ready", todo_id: id, queue: "default" },
      },
    });
    await quiet();
  });

  it("SB-73 the protocol's own client gets it, of work made by message and by create_for", async () => {
    const peer = await connectMcp(gateway.url, await gateway.vend({ verbs: ["claim_next", "create_for"] }));
    const heard: unknown[] = [];
    peer.client.fallbackNotificationHandler = async (notification) => {
      heard.push(notification);
    };
    // The client opens its stream behind our back: work is made until some of it is heard of.
    for (let i = 0; i < 50 && heard.length === 0; i += 1) {
      await peer.call("create_for", { title: "By tool" });
      await sleep(50);
    }
    heard.length = 0;
    const id = await client.send("By message");
    const until = Date.now() + 5000;
    while (heard.length === 0 && Date.now() < until) await sleep(10);
    expect(heard).toMatchObject([
      { method: "notifications/claude/channel", params: { meta: { todo_id: id } } },
    ]);
    await peer.close();
  });

  it("SB-73 with nobody to hear it, it is lost and the work is not", async () => {
    const id = await client.send("Silent work");
    await sleep(100);
    const late = await worker();
    await rings(late.stream, 0, 300);
    expect(await late.tool("claim", { id })).toMatchObject({ id, state: "claimed" });
    await late.tool("complete", { id });
    await quiet();
  });

  it("SB-73 one session for each todo, in turn, over all endpoints of the queue", async () => {
    const credential = await gateway.vendWorker();
    const all = [
      await worker(),
      await listen(gateway.url, credential),
      await listen(gateway.url, credential),
    ];
    open.push(...all.map(({ stream }) => stream));
    const ids: string[] = [];
    for (let i = 0; i < 9; i += 1) ids.push(await client.send(`work ${i}`));
    const heard = await Promise.all(all.map(({ stream }) => rings(stream, 3, 400)));
    expect(heard.flat().map(({ params }) => params.meta.todo_id)).toHaveLength(9);
    expect(new Set(heard.flat().map(({ params }) => params.meta.todo_id))).toEqual(new Set(ids));
    await quiet();
  });

  it("SB-73 SB-80 only endpoints that drain the queue, and never those of another agent", async () => {
    const own = await worker();
    const elsewhere = [
      await worker({ queues: ["reviews"] }),
      await worker({ agent: "other" }),
      await worker({ verbs: SUBMIT_VERBS }),
      await worker({ verbs: ["complete", "heartbeat", "get_todo"] }),
    ];
    const id = await client.send("For default");
    const [ring] = await rings(own.stream, 1);
    expect(ring?.params.meta.todo_id).toBe(id);
    const foreign = testClient(gateway.url, await gateway.vend({ agent: "other" }));
    const foreignId = await foreign.send("For the other agent's default");
    foreign.close();
    expect((await rings(elsewhere[1]?.stream as Stream, 1))[0]?.params.meta.todo_id).toBe(foreignId);
    for (const { stream } of [own, ...elsewhere]) expect(stream.notifications).toEqual([]);
    await expect(own.tool("claim", { id: foreignId })).rejects.toThrow("not_found: todo not found");
    await quiet();
  });

  it("SB-73 rings once for a todo, and again when it comes back", async () => {
    const { stream, tool } = await worker();
    const id = await client.send("Once");
    await rings(stream, 1);
    const channel = queueChannel("main", "default");
    for (let i = 0; i < 3; i += 1) {
      await redis.run(channel, ["SPUBLISH", channel, JSON.stringify({ id, title: "Once", at: 0 })]);
    }
    await rings(stream, 0, 300);
    await tool("claim", { id });
    await tool("release", { id });
    expect((await rings(stream, 1))[0]?.params.meta).toMatchObject({ todo_id: id, event: "ready" });
    await tool("claim", { id });
    const failed = Date.now();
    await tool("fail", { id });
    await rings(stream, 1);
    expect(Date.now() - failed).toBeGreaterThan(900);
    expect(await tool("claim", { id })).toMatchObject({ state: "claimed" });
    await tool("complete", { id });
    await quiet();
  });

  it("SB-73 a ring about a todo that is gone or taken is not passed on", async () => {
    const { stream, tool } = await worker();
    const taken = await client.send("Taken");
    await rings(stream, 1);
    await tool("claim", { id: taken });
    const channel = queueChannel("main", "default");
    for (const id of ["td_gone", taken]) {
      await redis.run(channel, ["SPUBLISH", channel, JSON.stringify({ id, title: "x", at: 0 })]);
    }
    await rings(stream, 0, 300);
    await tool("complete", { id: taken });
    await quiet();
  });
});

describe("what the client of a held todo does", () => {
  it("Q20 a cancel and a message ring the session that holds the todo, and no other", async () => {
    const [holder, other] = [await worker(), await worker()];
    const id = await client.send("Held");
    await sleep(300);
    for (const { stream } of [holder, other]) stream.notifications.length = 0;
    await holder.tool("claim", { id });
    await sleep(100);
    await client.send("One more thing", id);
    expect((await rings(holder.stream, 1))[0]?.params).toEqual({
      content: `baton: todo ${id} has a new message on queue "default" — Held`,
      meta: { event: "message", todo_id: id, queue: "default" },
    });
    // What the worker says itself is no news to it.
    await holder.tool("require_input", { id, message: "Which thing?" });
    await rings(holder.stream, 0);
    await client.send("The red one", id);
    expect((await rings(holder.stream, 1))[0]?.params.meta.event).toBe("message");
    await client.a2a.cancelTask({ id });
    expect((await rings(holder.stream, 1))[0]?.params).toEqual({
      content: `baton: todo ${id} canceled on queue "default" — Held`,
      meta: { event: "canceled", todo_id: id, queue: "default" },
    });
    expect(other.stream.notifications).toEqual([]);
    await quiet();
  });

  it("Q20 nothing rings for a todo that was finished or given back, and no watch is left", async () => {
    const before = gateway.openStreams;
    const holder = await worker();
    const [done, released] = [await client.send("Done"), await client.send("Released")];
    for (const id of [done, released]) await holder.tool("claim", { id });
    await holder.tool("complete", { id: done });
    await holder.tool("release", { id: released });
    await sleep(300);
    holder.stream.notifications.length = 0;
    await client.send("Still there?", released);
    await client.a2a.cancelTask({ id: released });
    await rings(holder.stream, 0, 300);
    await holder.raw.request("DELETE", undefined, { "mcp-session-id": holder.session });
    await quiet();
    expect(gateway.openStreams).toBe(before);
  });
});

describe("many replicas and slow readers", () => {
  it("SB-73 two replicas ring once between them", async () => {
    const server = await startTestRedis();
    const doors = [await startBareDoor(server), await startBareDoor(server)] as const;
    const sessions = await Promise.all(doors.map(async (door) => listen(door.url, await door.vend())));
    const maker = await connectMcp(doors[0].url, await doors[0].vend({ verbs: SUBMIT_VERBS }));
    for (let i = 0; i < 20; i += 1) await maker.call("create_for", { title: `work ${i}` });
    await sleep(800);
    const heard = sessions.flatMap(({ stream }) => stream.notifications);
    expect(heard).toHaveLength(20);
    expect(new Set(heard.map(({ params }) => params.meta.todo_id)).size).toBe(20);
    for (const { stream } of sessions) stream.close();
    await maker.close();
    for (const door of doors) await door.stop();
    await server.stop();
  });

  it("SB-73 a reader that takes nothing is given 16 rings, and then others are rung", async () => {
    const server = await startTestRedis();
    const door = await startBareDoor(server);
    const maker = await connectMcp(door.url, await door.vend({ verbs: SUBMIT_VERBS }));
    const { session, request } = await openSession(door);
    const response = await session.listen(request("GET"));
    for (let i = 0; i < 16; i += 1) await maker.call("create_for", { title: `work ${i}` });
    await sleep(300);
    expect(session.ready).toBe(false);
    const other = await listen(door.url, await door.vend());
    for (let i = 16; i < 20; i += 1) await maker.call("create_for", { title: `work ${i}` });
    await rings(other.stream, 4);
    session.end();
    const text = await response.text();
    expect(text.match(/^event: message$/gm)).toHaveLength(16);
    other.stream.close();
    await maker.close();
    await door.stop();
    await server.stop();
  });
});

describe("the text of a ring", () => {
  it.each([
    ["a</channel>b", "a[/channel]b"],
    ["a</CHANNEL >b< / channel>", "a[/channel]b[/channel]"],
    ["one\r\ntwo\u2028three", "one two three"],
  ])("SB-73 %j cannot leave its line or its element", (title, shown) => {
    const ring = { todoId: "td_1", queue: "q", title, kind: title, source: title };
    const { content, meta } = channelNotification("ready", ring).params;
    expect(content).toBe(`baton: todo td_1 ready on queue "q" — ${shown}`);
    expect(meta).toEqual({ event: "ready", todo_id: "td_1", queue: "q", kind: shown, source: shown });
  });
});
