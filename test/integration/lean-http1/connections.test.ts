/** What becomes of connections that the lean reader serves: kept, handed over, left, drained, idle, stalled. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { Listener, ListenerOptions } from "../../../src/server/listener.ts";
import { createAuthority } from "../../egress/certificates.ts";
import { get, post, type Rig, rpc, startRig, Wire } from "./rig.ts";

const authority = createAuthority("Lean reader test root");
const tls = authority.issue({ names: ["localhost"], addresses: ["127.0.0.1"] });

const rigs: Rig[] = [];
const wires: Wire[] = [];

afterEach(async () => {
  for (const wire of wires.splice(0)) wire.socket.destroy();
  for (const rig of rigs.splice(0)) await rig.close();
});

async function start(server: Partial<ListenerOptions> = {}): Promise<Rig> {
  const rig = await startRig({ server });
  rigs.push(rig);
  return rig;
}

async function open(listener: Listener): Promise<Wire> {
  const wire = await Wire.open(listener, authority.ca);
  wires.push(wire);
  return wire;
}

const task = (id: string) => post(rpc("GetTask", { id }));
const idOf = (body: string | undefined) => JSON.parse(body ?? "{}").result?.id ?? JSON.parse(body ?? "{}").id;
const header = (headers: readonly string[] | undefined, name: string) =>
  headers?.find((line) => line.toLowerCase().startsWith(`${name}: `))?.slice(name.length + 2);

describe.each([
  ["cleartext", {}],
  ["TLS", { tls }],
])("over %s", (_, server) => {
  it("many calls on one connection are all served", async () => {
    const rig = await start(server);
    const wire = await open(rig.lean);
    for (let count = 0; count < 50; count += 1) {
      const answer = await wire.call(count % 2 === 0 ? task(`T${count}`) : get(`/tasks/T${count}`));
      expect(idOf(answer?.body)).toBe(`T${count}`);
    }
    expect(rig.served).toBe(50);
    expect(rig.lean.connections).toBe(1);
  });

  it("both readers answer alike", async () => {
    const rig = await start(server);
    for (const request of [task("T1"), get("/tasks/nope"), post("{"), task("T1").replace("acme", "nobody")]) {
      const [lean, node] = await Promise.all(
        [rig.lean, rig.node].map(async (listener) => (await open(listener)).call(request)),
      );
      expect(lean).toEqual(node);
    }
    expect(rig.served).toBe(4);
  });

  it("the first request of another form takes the connection to Node's HTTP for good", async () => {
    const rig = await start(server);
    const wire = await open(rig.lean);
    await wire.call(task("T1"));
    const chunked = task("T2").replace(/Content-Length: \d+/, "Transfer-Encoding: chunked");
    const [head = "", body = ""] = chunked.split("\r\n\r\n");
    wire.write(`${head}\r\n\r\n${body.length.toString(16)}\r\n${body.slice(0, 9)}`);
    await sleep(20);
    const answer = await wire.call(`${body.slice(9)}\r\n0\r\n\r\n`);
    expect(idOf(answer?.body)).toBe("T2");
    expect(idOf((await wire.call(task("T3")))?.body)).toBe("T3");
    expect(rig.served).toBe(1);
  });

  it("what arrives while an answer is under way is served after it, in order", async () => {
    const rig = await start(server);
    const wire = await open(rig.lean);
    wire.write(task("slow"));
    await expect.poll(() => rig.slow.length).toBe(1);
    wire.write(task("T2"));
    await sleep(20);
    wire.write(get("/tasks/T3") + task("T4").slice(0, 50));
    await sleep(20);
    wire.write(task("T4").slice(50));
    await sleep(20);
    expect(wire.answers).toHaveLength(0);
    rig.slow[0]?.answer();
    const answers = await wire.until(4);
    expect(answers.map(({ body }) => idOf(body))).toEqual(["slow", "T2", "T3", "T4"]);
    expect(rig.served).toBe(1);
  });

  it("nothing of much that arrives meanwhile is lost", async () => {
    const rig = await start(server);
    const wire = await open(rig.lean);
    wire.write(task("slow"));
    await expect.poll(() => rig.slow.length).toBe(1);
    const many = 3000;
    wire.write(get("/x/y/z").repeat(many));
    await sleep(100);
    rig.slow[0]?.answer();
    const answers = await wire.until(many + 1);
    expect(answers.slice(1).map(({ status }) => status)).toEqual(Array(many).fill("HTTP/1.1 404"));
  });

  it("no more than a bounded part of what arrives meanwhile is held", async () => {
    const rig = await start(server);
    const wire = await open(rig.lean);
    wire.write(task("slow"));
    await expect.poll(() => rig.slow.length).toBe(1);
    // More than the buffers of a system hold.
    wire.write(Buffer.alloc(64 * 1024 * 1024));
    await sleep(500);
    expect(wire.socket.writableLength).toBeGreaterThan(32 * 1024 * 1024);
    rig.slow[0]?.answer();
    await wire.closed;
    expect(wire.answers.map(({ status }) => status)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
  });

  it("a client that goes away aborts its call", async () => {
    const rig = await start(server);
    const wire = await open(rig.lean);
    wire.write(task("slow"));
    await expect.poll(() => rig.slow.length).toBe(1);
    expect(rig.lean.inFlight).toBe(1);
    const signal = rig.slow[0]?.call.signal;
    expect(signal?.aborted).toBe(false);
    wire.socket.destroy();
    await expect.poll(() => signal?.aborted).toBe(true);
    await expect.poll(() => [rig.lean.inFlight, rig.lean.connections]).toEqual([0, 0]);
    rig.slow[0]?.answer();
    expect(idOf((await (await open(rig.lean)).call(task("T1")))?.body)).toBe("T1");
  });

  it("a client that only ends its side aborts its call, as with Node's HTTP", async () => {
    const rig = await start(server);
    for (const listener of [rig.lean, rig.node]) {
      const wire = await open(listener);
      const at = rig.slow.length;
      wire.write(task("slow"));
      await expect.poll(() => rig.slow.length).toBe(at + 1);
      const signal = rig.slow[at]?.call.signal;
      wire.socket.end();
      await expect.poll(() => signal?.aborted).toBe(true);
      await wire.closed;
      expect(wire.answers).toHaveLength(0);
    }
  });

  it("G13 a drain lets the answer under way out, says that the connection closes, and closes idle ones", async () => {
    const rig = await start(server);
    const [busy, idle] = [await open(rig.lean), await open(rig.lean)];
    await idle.call(task("T1"));
    busy.write(get("/tasks/slow"));
    await expect.poll(() => rig.slow.length).toBe(1);
    const drained = rig.lean.drain(5000);
    await idle.closed;
    expect(busy.socket.closed).toBe(false);
    rig.slow[0]?.answer();
    const [answer] = await busy.until(1);
    expect([answer?.status, header(answer?.headers, "connection")]).toEqual(["HTTP/1.1 200", "close"]);
    await busy.closed;
    await drained;
  });

  it("G13 a drain that runs out of time cuts a call", async () => {
    const rig = await start(server);
    const wire = await open(rig.lean);
    wire.write(task("slow"));
    await expect.poll(() => rig.slow.length).toBe(1);
    const signal = rig.slow[0]?.call.signal;
    await rig.lean.drain(100);
    await wire.closed;
    await expect.poll(() => signal?.aborted).toBe(true);
  });

  it("a retired listener serves on and has its clients connect anew", async () => {
    const rig = await start(server);
    const wire = await open(rig.lean);
    await wire.call(task("T1"));
    rig.lean.retire();
    for (const each of [wire, await open(rig.lean)]) {
      const answer = await each.call(task("T2"));
      expect([idOf(answer?.body), header(answer?.headers, "connection")]).toEqual(["T2", "close"]);
      await each.closed;
    }
    expect(rig.served).toBe(3);
  });

  it("an idle connection is closed after its time, not before", async () => {
    const rig = await start({ ...server, limits: { keepAliveTimeoutMs: 300 } });
    const [lean, node] = [await open(rig.lean), await open(rig.node)];
    const [a, b] = await Promise.all([lean, node].map((wire) => wire.call(task("T1"))));
    expect(a).toEqual(b);
    await sleep(250);
    expect([lean, node].map(({ socket }) => socket.closed)).toEqual([false, false]);
    const begun = Date.now();
    await Promise.all([lean.closed, node.closed]);
    expect(Date.now() - begun).toBeLessThan(4000);
  });

  it("a call takes as long as it takes", async () => {
    const rig = await start({ ...server, limits: { keepAliveTimeoutMs: 1, headersTimeoutMs: 200 } });
    const wire = await open(rig.lean);
    wire.write(task("slow"));
    await expect.poll(() => rig.slow.length).toBe(1);
    await sleep(1500);
    rig.slow[0]?.answer();
    expect(idOf((await wire.until(1))[0]?.body)).toBe("slow");
    // And the time of an idle connection runs anew.
    expect(wire.socket.closed).toBe(false);
    await wire.closed;
  });

  it("an empty line behind a request shortens the time of an idle connection by nothing", async () => {
    const rig = await start({ ...server, limits: { headersTimeoutMs: 200 } });
    for (const listener of [rig.lean, rig.node]) {
      const wire = await open(listener);
      await wire.call(task("T1"));
      wire.write("\r\n");
      await sleep(1000);
      const at = rig.slow.length;
      wire.write(task("slow"));
      await expect.poll(() => rig.slow.length).toBe(at + 1);
      wire.write("\r\n");
      await sleep(20);
      rig.slow[at]?.answer();
      await sleep(1000);
      await wire.call(task("T2"));
      expect(wire.answers.map(({ body }) => idOf(body))).toEqual(["T1", "slow", "T2"]);
    }
    expect(rig.served).toBe(3);
  });

  it("headers that say how long a connection is kept are those of Node's HTTP", async () => {
    const rig = await start({ ...server, limits: { keepAliveHintMs: 7500 } });
    for (const request of [task("T1"), get("/tasks/nope")]) {
      const [lean, node] = await Promise.all(
        [rig.lean, rig.node].map(async (listener) => (await open(listener)).call(request)),
      );
      expect(lean).toEqual(node);
      expect(header(lean?.headers, "keep-alive")).toBe("timeout=7");
    }
    expect(rig.served).toBe(2);
  });
});

it("a TLS connection that says nothing is answered 408, as with Node's HTTP", async () => {
  const rig = await start({ tls, limits: { headersTimeoutMs: 300 } });
  const [lean, node] = [await open(rig.lean), await open(rig.node)];
  await Promise.all([lean.closed, node.closed]);
  expect(lean.answers).toEqual(node.answers);
  expect(lean.answers[0]?.status).toBe("HTTP/1.1 408");
});

it("a request that drips in is answered 408, also where another was served before", async () => {
  const rig = await start({ limits: { headersTimeoutMs: 300, requestTimeoutMs: 400 } });
  const wire = await open(rig.lean);
  await wire.call(task("T1"));
  const begun = Date.now();
  const drip = setInterval(() => wire.write("X"), 50);
  wire.write("GET / HTTP/1.1\r\nX: ");
  await wire.closed;
  clearInterval(drip);
  expect(Date.now() - begun).toBeLessThan(3000);
  expect(wire.answers[1]?.status).toBe("HTTP/1.1 408");
});
