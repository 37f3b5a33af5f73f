/** Event streams and RPC streams as networks, proxies and impatient clients treat them. */
import { connect as netConnect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { brief, message, Peer, type TestWorker } from "../scenarios/actors.ts";
import type { Driver } from "../scenarios/driver.ts";
import { DRIVERS } from "./drivers.ts";
import { connect, workerOf } from "./rig.ts";

let redis: TestRedis;
let first: TestGateway;
let second: TestGateway;
let worker: TestWorker;

const start = () =>
  startTestGateway({
    redis: { url: redis.server.url },
    streams: { keepAliveSeconds: 1, perEndpoint: 64 },
    limits: {
      bodyBytes: 1_000_000,
      perAddress: { perSecond: 100_000, burst: 100_000 },
      perEndpoint: { perSecond: 100_000, burst: 100_000 },
      send: { perSecond: 100_000, burst: 100_000 },
    },
  });

beforeAll(async () => {
  redis = await startTestRedis();
  [first, second] = await Promise.all([start(), start()]);
  worker = await workerOf(first);
});
afterAll(async () => {
  await first?.stop();
  await second?.stop();
  await redis?.stop();
});

/** The raw bytes of an HTTP/1.1 exchange, as they come. */
class Raw {
  readonly #socket;
  text = "";

  constructor(
    gateway: TestGateway,
    token: string,
    path: string,
    headers: readonly string[] = [],
    body?: string,
  ) {
    this.#socket = netConnect(gateway.port, "127.0.0.1");
    this.#socket.on("error", () => {});
    this.#socket.on("data", (chunk) => {
      this.text += chunk.toString("utf8");
    });
    const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
    const head = [
      `${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1`,
      "Host: gateway.example",
      `Authorization: Bearer ${token}`,
      "Content-Type: application/json",
      ...headers,
      ...length,
    ];
    this.#socket.write(`${head.join("\r\n")}\r\n\r\n${body ?? ""}`);
  }

  async until(pattern: RegExp): Promise<string> {
    const deadline = Date.now() + 10_000;
    while (!pattern.test(this.text)) {
      if (Date.now() > deadline) throw new Error(`no ${pattern} in ${this.text.slice(-2000)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return this.text;
  }

  /** Stops reading, without closing. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }
}

function headOf(text: string): string {
  return text.slice(0, text.indexOf("\r\n\r\n")).toLowerCase();
}

async function claimed(token: string): Promise<string> {
  const { id } = await peerOn(await restDriver(), token).start();
  await worker.claim(id);
  return id;
}

let rest: Driver | undefined;
async function restDriver(): Promise<Driver> {
  const kind = DRIVERS.find(({ name }) => name === "rest");
  if (kind === undefined) throw new Error("no rest driver");
  rest ??= await connect(kind, first);
  return rest;
}
afterAll(() => rest?.close());

function peerOn(driver: Driver, token: string): Peer {
  return new Peer(driver, { token });
}

describe.each(DRIVERS.map((kind) => [kind.name, kind] as const))("%s", (_, kind) => {
  let here: Driver;
  let there: Driver;
  let token: string;

  beforeAll(async () => {
    here = await connect(kind, first);
    there = await connect(kind, second);
    token = await first.vend();
  });
  afterAll(async () => {
    await here?.close();
    await there?.close();
  });

  it("FR-32, E2, A2A-85 a subscriber on another replica sees the same events in the same order", async () => {
    const started = await peerOn(here, token).stream();
    const { id } = await started.task();
    const watches = [
      started,
      await peerOn(here, token).subscribe(id),
      await peerOn(there, token).subscribe(id),
    ];
    for (const watch of watches.slice(1)) await watch.task();
    await worker.claim(id);
    for (let i = 0; i < 20; i += 1) await worker.progress(id, `step ${i}`);
    await worker.complete(id, [{ artifactId: "a", parts: [{ text: "done" }] }]);
    const seen = await Promise.all(watches.map((watch) => watch.all()));
    const tails = seen.map((events) =>
      events.slice(1).map((event) => {
        const { payload } = event;
        const content =
          payload.case === "statusUpdate" ? payload.value.status?.message?.parts[0]?.content : undefined;
        return content?.case === "text" ? content.value : brief(event);
      }),
    );
    expect(tails[0]).toHaveLength(23);
    for (const tail of tails) expect(tail).toEqual(tails[0]);
  });

  it("FR-32 a cancel on one replica ends the streams of the other", async () => {
    const { id } = await peerOn(here, token).start();
    const watch = await peerOn(there, token).subscribe(id);
    await peerOn(here, token).cancel(id);
    await watch.all();
    expect(watch.briefs).toEqual(["task SUBMITTED", "status CANCELED"]);
  });

  it("E5, A2A-89 a quiet, interrupted task is subscribed to; the task comes first and the stream stays", async () => {
    const { id } = await peerOn(here, token).start();
    await worker.claim(id);
    await worker.ask(id, "which?");
    const watch = await peerOn(there, token).subscribe(id);
    expect((await watch.task()).status?.message?.parts[0]?.content.value).toBe("which?");
    await peerOn(here, token).start(message("that", { taskId: id }));
    await worker.complete(id);
    await watch.all();
    expect(watch.briefs[0]).toBe("task INPUT_REQUIRED");
    expect(watch.briefs.at(-1)).toBe("status COMPLETED");
  });

  it("A7, FR-32 a question that was asked through one replica is answered through the other", async () => {
    const { id } = await peerOn(here, token).start();
    await worker.claim(id);
    await worker.ask(id, "may I?");
    const watch = await peerOn(here, token).subscribe(id);
    await watch.task();
    await peerOn(there, token).start(message("you may", { taskId: id }));
    await worker.complete(id);
    await watch.all();
    expect(watch.briefs).toEqual(["task INPUT_REQUIRED", "status WORKING", "status COMPLETED"]);
  });

  it("E7, A2A-86 a stream that is dropped takes nothing along: others go on, and new ones open", async () => {
    const dropped = await peerOn(here, token).stream();
    const { id } = await dropped.task();
    const other = await peerOn(there, token).subscribe(id);
    await other.task();
    dropped.close();
    await worker.claim(id);
    const late = await peerOn(here, token).subscribe(id);
    await late.task();
    await worker.complete(id);
    for (const watch of [other, late]) {
      await watch.all();
      expect(watch.briefs.at(-1)).toBe("status COMPLETED");
    }
  });

  it("E11, A2A-30 a task that is only submitted is no final answer", async () => {
    const answer = peerOn(here, token).send(message("wait"));
    let id: string | undefined;
    for (let tries = 0; id === undefined && tries < 100; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      id = (await peerOnList(here, token, "SUBMITTED")) ?? undefined;
    }
    if (id === undefined) throw new Error("no task");
    await worker.claim(id);
    await worker.progress(id, "working");
    await worker.complete(id);
    const task = await answer;
    expect([task.id, task.status?.state]).toEqual([id, 3]);
  });

  it("A11, A2A-86 a task that SendMessage made is watched twice, and both see all", async () => {
    const { id } = await peerOn(here, token).start();
    const watches = [await peerOn(here, token).subscribe(id), await peerOn(here, token).subscribe(id)];
    await worker.do(id, [{ artifactId: "a", parts: [{ text: "x" }] }]);
    for (const watch of watches) {
      await watch.all();
      expect(watch.briefs).toEqual([
        "task SUBMITTED",
        "status WORKING",
        "artifact a=1 last",
        "status COMPLETED",
      ]);
    }
  });
});

async function peerOnList(driver: Driver, token: string, state: string): Promise<string | undefined> {
  const { tasks } = await peerOn(driver, token).list({ status: `TASK_STATE_${state}` });
  return tasks[0]?.id;
}

describe.each(["rest", "jsonrpc"] as const)("event stream of %s", (binding) => {
  const open = (token: string, id: string, headers: readonly string[] = [], gateway = first) =>
    binding === "rest"
      ? new Raw(gateway, token, `/tasks/${id}:subscribe`, headers)
      : new Raw(
          gateway,
          token,
          "/",
          headers,
          JSON.stringify({ jsonrpc: "2.0", id: "abc", method: "SubscribeToTask", params: { id } }),
        );

  it("E10, FR-37, E14 is text/event-stream, line by line, and says what proxies need to hear", async () => {
    const token = await first.vend();
    const id = await claimed(token);
    const raw = open(token, id);
    await raw.until(/data: /);
    await worker.complete(id);
    const text = await raw.until(/TASK_STATE_COMPLETED/);
    const head = headOf(text);
    expect(head).toMatch(/^http\/1\.1 200 /);
    expect(head).toContain("content-type: text/event-stream\r\n");
    expect(head).toMatch(/cache-control: no-cache, no-transform/);
    expect(head).toContain("x-accel-buffering: no");
    const lines = text
      .slice(text.indexOf("\r\n\r\n") + 4)
      .split("\n")
      // The sizes of HTTP chunks stand between the lines of the stream.
      .filter((line) => !/^[0-9a-f]*\r$/.test(line));
    for (const line of lines) expect(line).toMatch(/^(data: \{.*\}|id: \d+|: keep-alive|)$/);
    raw.close();
  });

  it("E13, A2A-145 is never compressed, and its head and first event come at once", async () => {
    const token = await first.vend();
    const id = await claimed(token);
    const begun = Date.now();
    const raw = open(token, id, ["Accept-Encoding: gzip, br, deflate"]);
    const text = await raw.until(/data: \{.*\n\n/);
    expect(Date.now() - begun).toBeLessThan(1000);
    expect(headOf(text)).not.toContain("content-encoding");
    raw.close();
  });

  it("E8, FR-39, A2A-142 silence is filled with comments, so that no idle limit strikes", async () => {
    const token = await first.vend();
    const id = await claimed(token);
    const raw = open(token, id);
    await raw.until(/: keep-alive\n\n[\s\S]*: keep-alive\n\n/);
    await worker.complete(id);
    expect(await raw.until(/TASK_STATE_COMPLETED/)).toMatch(/: keep-alive/);
    raw.close();
  });

  it("E1, E4 Last-Event-ID, as readers of event streams send it, continues on another replica", async () => {
    const token = await first.vend();
    const id = await claimed(token);
    const raw = open(token, id);
    await raw.until(/data: /);
    await worker.progress(id, "T1");
    const text = await raw.until(/"T1"/);
    raw.close();
    const last = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1];
    await worker.progress(id, "T2");
    const again = open(token, id, [`Last-Event-ID: ${last}`], second);
    await worker.progress(id, "T3");
    await worker.complete(id);
    const rest = await again.until(/TASK_STATE_COMPLETED/);
    expect(headOf(rest)).toContain("a2a-stream-resume: replay");
    expect([...rest.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]))).toEqual(
      [1, 2, 3].map((step) => Number(last) + step),
    );
    expect([...rest.matchAll(/"text":"(T\d)"/g)].map((match) => match[1])).toEqual(["T2", "T3"]);
    expect(rest).not.toContain('"task"');
    again.close();
  });

  it("E16, E17 events published while the subscriber connection was away are not lost", async () => {
    const token = await first.vend();
    const id = await claimed(token);
    const raw = open(token, id);
    await raw.until(/data: /);
    const store = await redis.connect();
    await store.run("x", ["CLIENT", "KILL", "TYPE", "pubsub"]);
    for (let i = 1; i <= 100; i += 1) await worker.progress(id, `E${i}.`);
    await worker.complete(id);
    const text = await raw.until(/TASK_STATE_COMPLETED/);
    expect([...text.matchAll(/"text":"E(\d+)\."/g)].map((match) => Number(match[1]))).toEqual(
      Array.from({ length: 100 }, (_, index) => index + 1),
    );
    raw.close();
  });

  it("A2A-143 a large artifact arrives in events no larger than a request may be", async () => {
    const token = await first.vend();
    const id = await claimed(token);
    const raw = open(token, id);
    await raw.until(/data: /);
    const chunk = "x".repeat(200_000);
    for (let i = 0; i < 10; i += 1) {
      await worker.artifact(id, { artifactId: "big", parts: [{ text: chunk }] }, { append: i > 0 });
    }
    await worker.complete(id);
    const text = await raw.until(/TASK_STATE_COMPLETED/);
    const sizes = text.split("\n").map((line) => line.length);
    expect(Math.max(...sizes)).toBeLessThan(1_100_000);
    expect(text.match(/"artifactUpdate"/g)?.length).toBe(10);
    raw.close();
  });
});

it("E20, A2A-95 a reader that stops reading holds up nobody, and finds its stream ended with an error", async () => {
  const token = await first.vend();
  const id = await claimed(token);
  const stuck = new Raw(first, token, `/tasks/${id}:subscribe`);
  await stuck.until(/data: /);
  stuck.pause();
  const healthy = await peerOn(await restDriver(), token).subscribe(id);
  await healthy.task();
  const chunk = "x".repeat(100_000);
  const done = (async () => {
    for (let i = 0; i < 400; i += 1) {
      await worker.artifact(id, { artifactId: "a", parts: [{ text: chunk }] }, { append: false });
    }
    await worker.complete(id);
  })();
  let events = 0;
  for (;;) {
    const event = await healthy.next();
    healthy.seen.length = 0;
    if (event === undefined) break;
    events += 1;
  }
  await done;
  expect(events).toBe(401);
  stuck.resume();
  expect(await stuck.until(/event: error\ndata: .*\n\n/)).toContain("STREAM_INTERRUPTED");
  expect(stuck.text).not.toContain("TASK_STATE_COMPLETED");
  stuck.close();
});
