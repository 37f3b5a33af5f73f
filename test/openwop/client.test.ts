import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RunEvent } from "../../src/backends/openwop/client/answers.ts";
import { OpenWopClient } from "../../src/backends/openwop/client/client.ts";
import {
  didNothing,
  HostRefusal,
  HostUnreachable,
  isFinal,
} from "../../src/backends/openwop/client/errors.ts";
import { readEvents } from "../../src/backends/openwop/client/event-stream.ts";
import { runPath } from "../../src/backends/openwop/client/run-path.ts";

describe("paths", () => {
  it("OW-26 every id is one segment, whatever it holds", () => {
    expect(runPath(1, "run_1")).toBe("/v1/runs/run_1");
    expect(runPath(2, "acme/r-9f")).toBe("/runs/acme%2Fr-9f");
    expect(runPath(2, "../x?y#z", "interrupts", "a/b")).toBe("/runs/..%2Fx%3Fy%23z/interrupts/a%2Fb");
  });
});

async function read(chunks: readonly Uint8Array[]): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  async function* source() {
    yield* chunks;
  }
  for await (const event of readEvents(source())) events.push(event);
  return events;
}
const event = (sequence: number, type = "run.started") =>
  JSON.stringify({ sequence, type, payload: { text: "ä€😀" }, future: true });

describe("event streams", () => {
  const text = `: hello\n\nid: 0\nevent: run.started\ndata: ${event(0)}\n\nid: 1\r\ndata: {"sequence":1,\r\ndata: "type":"a"}\r\n\r\n: keep-alive\n\ndata:${event(2)}\n\n`;

  it("OW-12 give the same events wherever the bytes are cut", async () => {
    const bytes = new TextEncoder().encode(text);
    const whole = await read([bytes]);
    expect(whole.map(({ sequence }) => sequence)).toEqual([0, 1, 2]);
    expect(whole[0]?.payload).toEqual({ text: "ä€😀" });
    expect(whole[1]?.payload).toEqual({});
    for (let at = 1; at < bytes.length; at++) {
      expect(await read([bytes.slice(0, at), bytes.slice(at)])).toEqual(whole);
    }
    expect(await read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  it("OW-12 a batch gives its events; frames that are none, and frames cut short, give nothing", async () => {
    const odd = [
      `event: batch\ndata: [${event(4)},${event(5)}]\n\n`,
      'event: state.snapshot\ndata: {"sequence":9,"type":"x"}\n\n',
      "data: not json\n\n",
      'data: {"sequence":-1,"type":"x"}\n\n',
      'data: {"type":"no sequence"}\n\n',
      `data: ${event(6)}`,
    ].join("");
    const events = await read([new TextEncoder().encode(odd)]);
    expect(events.map(({ sequence }) => sequence)).toEqual([4, 5]);
  });
});

describe("calls", () => {
  let server: Server;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let seen: IncomingMessage[];
  let client: OpenWopClient;
  const open = (major: 1 | 2) =>
    new OpenWopClient({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      major,
      timeoutMs: 300,
      budgetMs: 1500,
      maxConnections: 4,
    });

  beforeEach(async () => {
    seen = [];
    server = createServer((request, response) => {
      seen.push(request);
      answer(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    client = open(2);
  });
  afterEach(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  const json = (
    response: ServerResponse,
    status: number,
    body: unknown,
    headers: Record<string, string> = {},
  ) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };

  it("OW-12 unknown statuses and keys pass, an answer that is none does not", async () => {
    answer = (_request, response) => json(response, 200, { runId: "a/b", status: "hibernating", moon: 1 });
    expect(await client.readRun("k", "a/b")).toMatchObject({ status: "hibernating", moon: 1 });
    answer = (_request, response) => json(response, 200, { id: "a/b" });
    await expect(client.readRun("k", "a/b", true)).rejects.toThrow(HostUnreachable);
    answer = (_request, response) => response.end("<html>");
    await expect(client.readRun("k", "a/b", true)).rejects.toThrow(HostUnreachable);
  });

  it("OW-35 of a refusal only code and wait are kept", async () => {
    answer = (_request, response) =>
      json(response, 409, { error: "run_terminal", message: "stack at host.js:1", details: { secret: 1 } });
    const error = await client.cancelRun("k", "r", "").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HostRefusal);
    expect(error).toMatchObject({ status: 409, code: "run_terminal" });
    expect(JSON.stringify(error) + String(error)).not.toMatch(/stack|secret/);
  });

  it("Retry-After is waited for where there is time, and given up on at once where there is not", async () => {
    let count = 0;
    answer = (_request, response) => {
      count++;
      if (count < 3) json(response, 429, { error: "rate_limited" }, { "retry-after": "0" });
      else json(response, 200, { runId: "r", status: "running" });
    };
    expect((await client.readRun("k", "r")).status).toBe("running");
    expect(count).toBe(3);
    answer = (_request, response) => json(response, 429, { error: "rate_limited" }, { "retry-after": "30" });
    const began = Date.now();
    await expect(client.readRun("k", "r")).rejects.toMatchObject({ retryAfterMs: 30_000 });
    expect(Date.now() - began).toBeLessThan(500);
  });

  it("OW-20 after a try that may have been carried out, a refusal of the next one settles nothing", async () => {
    let count = 0;
    answer = (_request, response) => {
      count++;
      if (count === 1) response.destroy();
      else json(response, 429, { error: "rate_limited" }, { "retry-after": "30" });
    };
    const error = await client.resolveInterrupt("k", "r", "n", {}, "key").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HostUnreachable);
    expect(didNothing(error)).toBe(false);
    expect(isFinal(error)).toBe(false);
    count = 1;
    const plain = await client.resolveInterrupt("k", "r", "n", {}, "key").catch((thrown: unknown) => thrown);
    expect(didNothing(plain)).toBe(true);
    expect(isFinal(plain)).toBe(false);
    answer = (_request, response) => json(response, 409, { error: "interrupt_already_resolved" });
    const final = await client.resolveInterrupt("k", "r", "n", {}, "key").catch((thrown: unknown) => thrown);
    expect(isFinal(final)).toBe(true);
  });

  it("a host that hangs is given up on in time", async () => {
    answer = () => {};
    const began = Date.now();
    await expect(client.readRun("k", "r")).rejects.toThrow(HostUnreachable);
    expect(Date.now() - began).toBeLessThan(4000);
  });

  it("OW-59 a redirect is not followed, so the credential goes nowhere else", async () => {
    answer = (request, response) => {
      if (request.url === "/elsewhere") json(response, 200, { runId: "r", status: "completed" });
      else json(response, 307, {}, { location: "/elsewhere" });
    };
    await expect(client.readRun("k", "r")).rejects.toMatchObject({ status: 307 });
    expect(seen.map(({ url }) => url)).toEqual(["/runs/r"]);
  });

  it("OW-12 a stream goes on after the last event seen, and the poll asks in the words of its major", async () => {
    answer = (_request, response) => response.end(`id: 8\ndata: ${event(8)}\n\n`);
    const events: RunEvent[] = [];
    for await (const item of client.events("k", "r", 7, new AbortController().signal)) events.push(item);
    expect(events.map(({ sequence }) => sequence)).toEqual([8]);
    expect(seen[0]?.headers).toMatchObject({
      "last-event-id": "7",
      "openwop-version": "2.0",
      authorization: "Bearer k",
    });
    expect(seen[0]?.url).toBe("/runs/r/events?streamMode=updates");
    const page = { events: [JSON.parse(event(3)), JSON.parse(event(9))], lastSequence: 9 };
    answer = (_request, response) => json(response, 200, page);
    expect((await client.poll("k", "r", 7, 1)).events.map(({ sequence }) => sequence)).toEqual([9]);
    const old = open(1);
    await old.poll("k", "r", 7, 1);
    await old.close();
    expect(seen.slice(1).map(({ url }) => url)).toEqual([
      "/runs/r/events/poll?timeout=1&afterSequence=7",
      "/v1/runs/r/events/poll?timeout=1&lastSequence=7",
    ]);
    expect(seen[2]?.headers["openwop-version"]).toBeUndefined();
  });

  it("a stream that is cut in the middle is a fault, one that was let go of is not", async () => {
    answer = (_request, response) => {
      response.write(`data: ${event(0)}\n\n`);
      setTimeout(() => response.destroy(), 20);
    };
    const all = async (signal: AbortSignal) => {
      for await (const _ of client.events("k", "r", -1, signal)) void _;
    };
    await expect(all(new AbortController().signal)).rejects.toThrow(HostUnreachable);
    answer = (_request, response) => response.write(`data: ${event(0)}\n\n`);
    await expect(all(AbortSignal.timeout(50))).resolves.toBeUndefined();
  });
});
