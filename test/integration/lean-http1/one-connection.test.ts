/** One connection of the lean reader at its edges: what it holds, whom it serves last, when it gives a reader up. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setImmediate as immediate, setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import type { LeanAnswer } from "../../../src/server/lean-http1/answer.ts";
import { type Host, LeanConnection } from "../../../src/server/lean-http1/connection.ts";
import { RequestReader } from "../../../src/server/lean-http1/read-request.ts";
import { get, Wire } from "./rig.ts";

/** More than the buffers of a system take. */
const LARGE = 64 * 1024 * 1024;

interface Served {
  readonly wire: Wire;
  /** The server's end. */
  readonly socket: Socket;
  /** Requests so far, in order. */
  readonly answers: LeanAnswer[];
  readonly host: { draining: boolean };
  /** Bytes that went to Node's HTTP. */
  readonly left: () => number;
}

const servers: Server[] = [];
const wires: Wire[] = [];

afterEach(async () => {
  for (const wire of wires.splice(0)) wire.socket.destroy();
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function start(): Promise<Served> {
  const answers: LeanAnswer[] = [];
  let left = 0;
  const host = {
    firstMs: 5000,
    idleMs: 5000,
    retiring: false,
    draining: false,
    takes: () => true,
    serve: (_request, answer) => void answers.push(answer),
    leave: (socket) => void socket.on("data", (chunk) => (left += chunk.length)).resume(),
    late: (socket) => void socket.destroy(),
    forget: () => {},
    connectionLines: () => "Connection: keep-alive",
  } satisfies Host;
  const server = createServer({ noDelay: true });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, "connection");
  const wire = await Wire.open({ port, url: "http://127.0.0.1" });
  wires.push(wire);
  const [socket] = (await accepted) as [Socket];
  socket.on("error", () => {});
  const limits = { maxBytes: 16_384, maxHeaderBytes: 16_384, maxBodyBytes: 4096 };
  new LeanConnection(socket, new RequestReader(limits), host);
  return { wire, socket, answers, host, left: () => left };
}

/** Reads so many bytes of an answer that is too large to keep, and then no more. */
async function take({ socket }: Wire, bytes: number): Promise<void> {
  const enough = socket.bytesRead + bytes;
  socket.removeAllListeners("data").on("data", () => {});
  socket.resume();
  while (socket.bytesRead < enough && !socket.closed) await immediate();
  socket.pause();
}

const send = (answer: LeanAnswer | undefined, body: string) =>
  answer?.send(200, ["content-length", String(body.length)], body, "latin1");

it("holds few pieces of what arrives meanwhile, however small they are", async () => {
  const { wire, socket, answers, left } = await start();
  wire.write(get("/tasks/slow"));
  await expect.poll(() => answers.length).toBe(1);
  const before = socket.bytesRead;
  const pieces = 1000;
  for (let count = 1; count <= pieces && !socket.isPaused(); count += 1) {
    wire.write("G");
    // So that each comes as a chunk of its own.
    while (socket.bytesRead < before + count && !socket.isPaused()) await immediate();
  }
  expect(socket.isPaused()).toBe(true);
  expect(socket.bytesRead - before).toBeLessThan(200);
  const sent = wire.socket.bytesWritten - get("/tasks/slow").length;
  send(answers[0], "a");
  await expect.poll(left).toBe(sent);
});

it("serves nothing that comes after the connection has ended: nobody would get the answer", async () => {
  const { wire, socket, answers, host } = await start();
  wire.write(get("/tasks/T1"));
  await expect.poll(() => answers.length).toBe(1);
  wire.socket.pause();
  send(answers[0], "x".repeat(LARGE));
  // Said to be kept before the drain, and still on its way when that begins.
  host.draining = true;
  await take(wire, LARGE);
  await expect.poll(() => socket.writableEnded).toBe(true);
  // The client has not seen the end yet.
  const before = socket.bytesRead;
  wire.write(get("/tasks/T2"));
  await expect.poll(() => socket.bytesRead).toBeGreaterThan(before);
  await sleep(20);
  expect(answers).toHaveLength(1);
}, 20_000);

it("SB-49 cuts a client that takes nothing of its answer, and not one that takes it slowly", async () => {
  const { wire, socket, answers } = await start();
  wire.write(get("/tasks/T1"));
  await expect.poll(() => answers.length).toBe(1);
  const [answer] = answers;
  wire.socket.pause();
  let closed = 0;
  answer?.on("close", () => {
    closed += 1;
  });
  send(answer, "x".repeat(LARGE));
  answer?.setTimeout(400, () => answer.destroy());
  for (let count = 0; count < 8; count += 1) {
    await sleep(100);
    await take(wire, LARGE / 16);
  }
  expect(socket.closed).toBe(false);
  await expect.poll(() => socket.closed, { timeout: 5000 }).toBe(true);
  expect([closed, answer?.destroyed, answer?.writableFinished]).toEqual([1, true, false]);
}, 20_000);
