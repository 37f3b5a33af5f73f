import { connect as connectHttp2 } from "node:http2";
import { createConnection, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { encodeSse, type SseEvent, type SseOptions, writeSse } from "../../../src/transports/sse.ts";
import { AUTH, listen, startA2AServer } from "./a2a-server.ts";
import { readSse, send1, send2 } from "./client.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const FAST: SseOptions = { keepAliveMs: 60_000, stallMs: 60_000 };

interface Source {
  readonly events: AsyncGenerator<SseEvent>;
  pulled: number;
  returned: boolean;
}

/** Events of a size, as many as are asked for, that knows how far it was read. */
function source(count: number, size: number, pauseMs = 0): Source {
  const state: Source = { pulled: 0, returned: false, events: produce() };
  async function* produce(): AsyncGenerator<SseEvent> {
    try {
      for (let i = 0; i < count; i += 1) {
        if (pauseMs > 0) await sleep(pauseMs);
        state.pulled += 1;
        yield { data: "x".repeat(size), id: String(i) };
      }
    } finally {
      state.returned = true;
    }
  }
  return state;
}

/** Serves one source; resolves `done` when its response has been dealt with. */
async function serve(
  events: AsyncIterable<SseEvent>,
  options: SseOptions,
): Promise<{ port1: number; port2: number; done: Promise<void> }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { close, ...ports } = await listen([
    async (_, response) => {
      await writeSse(response, [["x-test", "1"]], events, options);
      resolve();
      return true;
    },
  ]);
  closers.push(close);
  return { ...ports, done: promise };
}

/** Asks for the stream and reads nothing of it. */
async function silentReader(port: number): Promise<Socket> {
  const socket = createConnection({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  return socket;
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 200 && !condition(); i += 1) await sleep(10);
  expect(condition()).toBe(true);
}

/** Waits until a source has been read no further for a while; answers how far. */
async function standstill(state: Source): Promise<number> {
  let before = -1;
  while (state.pulled !== before) {
    before = state.pulled;
    await sleep(300);
  }
  return before;
}

describe("encodeSse", () => {
  it.each([
    [{ data: "a" }, "data: a\n\n"],
    [{ data: "a", id: "7", event: "error" }, "event: error\nid: 7\ndata: a\n\n"],
    [{ data: "a\nb\r\nc\rd" }, "data: a\ndata: b\ndata: c\ndata: d\n\n"],
    [{ data: "" }, "data: \n\n"],
  ])("A2A-144 writes %j", (event, text) => expect(encodeSse(event)).toBe(text));

  it.each([{ id: "1\ndata: x" }, { id: "1\r" }, { event: "a\nb" }, { id: "\0" }])("refuses %j", (fields) => {
    expect(() => encodeSse({ data: "", ...fields })).toThrow(RangeError);
  });
});

describe("writeSse", () => {
  it("A2A-142, A2A-145 sends comments in silence, at once flushed", async () => {
    const { port1, port2 } = await serve(source(2, 1, 250).events, { ...FAST, keepAliveMs: 40 });
    const answer = await send1(port1, {});
    expect(answer.text.split("\n\n").filter((block) => block === ": keep-alive").length).toBeGreaterThan(4);
    expect(readSse(answer.text)).toHaveLength(2);
    expect((await send2(port2, {})).status).toBe(200);
  });

  it("A2A-145 the head goes out before the first event", async () => {
    const state = source(1, 1, 400);
    const { port1 } = await serve(state.events, FAST);
    const started = Date.now();
    const socket = createConnection({ port: port1, host: "127.0.0.1" });
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    const head = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
    expect(Date.now() - started).toBeLessThan(350);
    expect(head.toString()).toContain("text/event-stream");
    expect(state.pulled).toBe(0);
    socket.destroy();
  });

  it("A2A-95 asks for no more than the client takes, over HTTP/1.1", async () => {
    const state = source(2_000, 64 * 1024);
    const { port1, done } = await serve(state.events, FAST);
    const socket = await silentReader(port1);
    const held = await standstill(state);
    expect(held).toBeGreaterThan(0);
    // The kernel's buffers of a loopback connection hold some megabytes; 128 MiB were on offer.
    expect(held).toBeLessThan(400);
    socket.destroy();
    await done;
    await until(() => state.returned);
    expect(state.pulled).toBeLessThanOrEqual(held + 1);
  });

  it("A2A-95 asks for no more than the client takes, over HTTP/2", async () => {
    const state = source(2_000, 64 * 1024);
    const { port2, done } = await serve(state.events, FAST);
    const session = connectHttp2(`http://127.0.0.1:${port2}`);
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => {});
    stream.pause();
    const held = await standstill(state);
    expect(held).toBeLessThan(100);
    stream.close(8);
    await done;
    await until(() => state.returned);
    session.destroy();
  });

  it("goes on when a slow client reads again", async () => {
    const state = source(200, 64 * 1024);
    const { port1, done } = await serve(state.events, FAST);
    const socket = await silentReader(port1);
    await sleep(200);
    let bytes = 0;
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.resume();
    await done;
    await until(() => bytes > 200 * 64 * 1024);
    socket.destroy();
    expect(state.pulled).toBe(200);
  });

  it("A2A-95 cuts a client that takes nothing for too long", async () => {
    const state = source(10_000, 64 * 1024);
    const { port1, done } = await serve(state.events, { ...FAST, stallMs: 150 });
    const socket = await silentReader(port1);
    await done;
    await until(() => state.returned);
    // What is on the way may still be read; then the connection is gone, and the stream has no proper end.
    let tail = "";
    socket.on("data", (chunk: Buffer) => {
      tail = (tail + chunk.toString()).slice(-16);
    });
    socket.resume();
    await new Promise((resolve) => socket.once("close", resolve));
    expect(tail.endsWith("\r\n0\r\n\r\n")).toBe(false);
  });

  it("A2A-86 a client that leaves ends its source although it waits for work", async () => {
    const server = await startA2AServer();
    closers.push(server.close);
    const socket = createConnection({ port: server.port1, host: "127.0.0.1" });
    socket.write(
      `GET /tasks/wait:subscribe HTTP/1.1\r\nhost: x\r\nauthorization: ${AUTH.authorization}\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once("data", resolve));
    const signal = server.seen[0]?.call.signal;
    expect(signal?.aborted).toBe(false);
    socket.destroy();
    await until(() => signal?.aborted === true);
  });

  it("A2A-86 the same over HTTP/2, and other streams of the connection go on", async () => {
    const server = await startA2AServer();
    closers.push(server.close);
    const session = connectHttp2(`http://127.0.0.1:${server.port2}`);
    const open = () => session.request({ ":path": "/tasks/wait:subscribe", ...AUTH });
    const [leaving, staying] = [open(), open()];
    for (const stream of [leaving, staying]) {
      stream.on("error", () => {});
      await new Promise((resolve) => stream.once("data", resolve));
    }
    leaving.close(8);
    const signals = server.seen.map(({ call }) => call.signal);
    await until(() => signals.filter(({ aborted }) => aborted).length === 1);
    await sleep(50);
    expect(signals.filter(({ aborted }) => aborted)).toHaveLength(1);
    session.destroy();
  });

  it("a finished answer does not abort its call", async () => {
    const server = await startA2AServer();
    closers.push(server.close);
    await send1(server.port1, { path: "/tasks/T1:subscribe", headers: AUTH });
    await send2(server.port2, { path: "/tasks/T1", headers: AUTH });
    await sleep(50);
    expect(server.seen.map(({ call }) => call.signal.aborted)).toEqual([false, false]);
  });

  it("A2A-83 a stream that breaks here ends as a broken one", async () => {
    async function* broken(): AsyncGenerator<SseEvent> {
      yield { data: "1" };
      throw new Error("a source must not throw");
    }
    const { port1 } = await serve(broken(), FAST);
    await expect(send1(port1, {})).rejects.toThrow();
    const bad = await serve(badId(), FAST);
    await expect(send2(bad.port2, {})).rejects.toThrow();
  });

  it("a client that left before the stream began ends a source that was begun", async () => {
    const state = source(3, 1);
    const { close, port1 } = await listen([
      async (_, response) => {
        response.destroy();
        await sleep(20);
        await writeSse(response, [], state.events, FAST);
        return true;
      },
    ]);
    closers.push(close);
    await expect(send1(port1, {})).rejects.toThrow();
    await until(() => state.returned);
    expect(state.pulled).toBe(1);
  });
});

async function* badId(): AsyncGenerator<SseEvent> {
  yield { data: "1", id: "a\nb" };
}
