import { getEventListeners } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer as createTlsServer } from "node:tls";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  compilePolicy,
  createEgressClient,
  type EgressClientOptions,
  EgressDenied,
  EgressFailed,
  MAX_RESPONSE_BYTES,
} from "../../src/egress/index.ts";
import { createAuthority } from "./certificates.ts";
import { startReceiver, tableResolver } from "./receiver.ts";

const authority = createAuthority();
const tls = authority.issue({ names: ["hook.example.com"] });

function clientFor(port: number, options: Partial<EgressClientOptions> = {}) {
  const client = createEgressClient({
    policy: compilePolicy({ allow: [{ cidr: "127.0.0.0/8", ports: [port] }] }),
    resolver: tableResolver({ "hook.example.com": [["127.0.0.1"]] }),
    extraCa: [authority.ca],
    ...options,
  });
  return { ...client, [Symbol.asyncDispose]: () => client.close() };
}

/** A server of raw bytes: `speak` gets each accepted (and for TLS, secured) socket. */
async function startRaw(speak: (socket: Socket) => unknown, secure = true) {
  const sockets = new Set<Socket>();
  const hold = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    speak(socket);
  };
  const server: Server = secure ? createTlsServer(tls, hold) : createServer(hold);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    port: (server.address() as AddressInfo).port,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

async function failure(work: Promise<unknown>): Promise<EgressFailed> {
  const error = await work.then(
    () => new Error("it succeeded"),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof EgressFailed)) throw error;
  return error;
}

async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 5000;
  while (!condition()) {
    if (Date.now() > end) throw new Error("it did not come true in 5 s");
    await sleep(10);
  }
}

const url = (port: number) => `https://hook.example.com:${port}/?key=s3cr3t`;

describe("S13 one deadline over everything", () => {
  it("a resolver that never answers", async () => {
    const resolver = { resolve: () => new Promise<never>(() => undefined) };
    await using client = clientFor(443, { resolver, timeouts: { totalMs: 150 } });
    const started = Date.now();
    expect(await failure(client.post({ url: url(443), body: "" }))).toMatchObject({
      reason: "dns_timeout",
      retryable: true,
      requestStarted: false,
    });
    expect(Date.now() - started).toBeLessThan(1000);
  });

  it("slow DNS leaves less for the receiver", async () => {
    await using receiver = await startReceiver({ tls, handler: () => undefined });
    const resolver = { resolve: () => sleep(300, ["127.0.0.1"]) };
    await using client = clientFor(receiver.port, { resolver, timeouts: { totalMs: 600 } });
    const started = Date.now();
    expect(await failure(client.post({ url: url(receiver.port), body: "" }))).toMatchObject({
      reason: "total_timeout",
      requestStarted: true,
      retryable: true,
    });
    expect(Date.now() - started).toBeGreaterThanOrEqual(590);
    expect(Date.now() - started).toBeLessThan(1500);
  });

  it("a receiver that accepts and never answers", async () => {
    await using receiver = await startReceiver({ tls, handler: () => undefined });
    await using client = clientFor(receiver.port, { timeouts: { headersMs: 150 } });
    expect(await failure(client.post({ url: url(receiver.port), body: "{}" }))).toMatchObject({
      reason: "headers_timeout",
      requestStarted: true,
    });
    await until(() => receiver.open() === 0);
  });

  it("a listener that never starts TLS", async () => {
    await using server = await startRaw((socket) => socket.resume(), false);
    await using client = clientFor(server.port, { timeouts: { connectMs: 150 } });
    expect(await failure(client.post({ url: url(server.port), body: "{}" }))).toMatchObject({
      reason: "tls_failed",
      requestStarted: false,
    });
    await until(() => server.open() === 0);
  });

  it("a body that drips: the status counts, the rest is cut at the deadline", async () => {
    await using receiver = await startReceiver({
      tls,
      handler: (_request, response) => {
        response.writeHead(202);
        const drip = setInterval(() => response.write("x"), 20);
        response.on("close", () => clearInterval(drip));
      },
    });
    await using client = clientFor(receiver.port, { timeouts: { totalMs: 300 } });
    expect(await client.post({ url: url(receiver.port), body: "{}" })).toMatchObject({
      status: 202,
      bodyComplete: false,
    });
    await until(() => receiver.open() === 0);
  });
});

describe("S26 the response is bounded and not kept", () => {
  const flood = {
    tls,
    handler: (_: unknown, response: import("node:http").ServerResponse) =>
      void response.end(Buffer.alloc(1 << 20, 65)),
  };

  it("reads at most 64 KiB of a body of 1 MiB and cuts the connection", async () => {
    await using receiver = await startReceiver(flood);
    await using client = clientFor(receiver.port);
    const result = await client.post({ url: url(receiver.port), body: "{}", keepBody: true });
    expect(result).toMatchObject({ status: 200, bodyComplete: false });
    expect(result.bodyExcerpt.length).toBe(MAX_RESPONSE_BYTES);
    await until(() => receiver.open() === 0);
  });

  it("returns no body unless asked", async () => {
    await using receiver = await startReceiver({
      tls,
      handler: (_, response) => void response.end("internal secrets"),
    });
    await using client = clientFor(receiver.port);
    const result = await client.post({ url: url(receiver.port), body: "{}" });
    expect(result).toMatchObject({ status: 200, bodyComplete: true });
    expect(result.bodyExcerpt.length).toBe(0);
    const asked = await client.post({ url: url(receiver.port), body: "{}", keepBody: true });
    expect(asked.bodyExcerpt.toString()).toBe("internal secrets");
  });

  it("a head without end", async () => {
    await using server = await startRaw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const more = setInterval(() => socket.write(`x-${"y".repeat(1000)}: 1\r\n`), 1);
      socket.on("close", () => clearInterval(more));
    });
    await using client = clientFor(server.port);
    expect(await failure(client.post({ url: url(server.port), body: "{}" }))).toMatchObject({
      reason: "response_head_too_large",
    });
    await until(() => server.open() === 0);
  });
});

describe("broken receivers have a reason from a closed list", () => {
  it("refused connections", async () => {
    const receiver = await startReceiver({ tls });
    await receiver[Symbol.asyncDispose]();
    await using client = clientFor(receiver.port);
    expect(await failure(client.post({ url: url(receiver.port), body: "{}" }))).toMatchObject({
      reason: "connect_failed",
      code: "ECONNREFUSED",
      requestStarted: false,
      retryable: true,
      decision: { allowed: true },
    });
  });

  it("D11 a connection that is cut after the request", async () => {
    await using server = await startRaw((socket) => socket.once("data", () => socket.destroy()));
    await using client = clientFor(server.port);
    expect(await failure(client.post({ url: url(server.port), body: "{}" }))).toMatchObject({
      reason: "reset",
      requestStarted: true,
      retryable: true,
    });
  });

  it("an answer that is not HTTP, with no byte of it in the error", async () => {
    await using server = await startRaw((socket) =>
      socket.once("data", () => socket.end("TOP-SECRET-BANNER 1.0\r\n\r\n")),
    );
    await using client = clientFor(server.port);
    const error = await failure(
      client.post({ url: url(server.port), body: "b0dy", headers: { authorization: "Bearer t0ken" } }),
    );
    expect(error).toMatchObject({ reason: "protocol", requestStarted: true });
    expect(inspect(error, { depth: 10 }) + JSON.stringify(error)).not.toMatch(/SECRET|b0dy|t0ken|s3cr3t/);
  });

  it("informational answers before the real one", async () => {
    await using server = await startRaw((socket) =>
      socket.once("data", () =>
        socket.write(
          "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 204 No Content\r\nx-a: 1\r\nx-a: 2\r\n\r\n",
        ),
      ),
    );
    await using client = clientFor(server.port);
    expect(await client.post({ url: url(server.port), body: "{}" })).toMatchObject({
      status: 204,
      headers: { "x-a": "1, 2" },
    });
  });

  it("a resolver outage is a failure to try again, not a refusal", async () => {
    for (const [thrown, reason] of [
      [new EgressFailed("dns_failed"), "dns_failed"],
      [new EgressFailed("dns_timeout"), "dns_timeout"],
      [new Error("s3cr3t"), "dns_failed"],
    ] as const) {
      await using client = clientFor(443, { resolver: tableResolver({ "hook.example.com": [thrown] }) });
      expect(await failure(client.check(url(443)))).toMatchObject({ reason, retryable: true });
    }
    await using client = clientFor(443, { resolver: tableResolver({ "hook.example.com": [[]] }) });
    expect(await failure(client.check(url(443)))).toMatchObject({ reason: "dns_no_answer", retryable: true });
  });
});

describe("G10 D13 abort and close leave nothing behind", () => {
  it("aborts in every phase release sockets and listeners", async () => {
    await using hanging = await startReceiver({ tls, handler: () => undefined });
    await using client = clientFor(hanging.port, { connectionsPerDestination: 8 });
    const caller = new AbortController();
    for (let round = 0; round < 10; round++) {
      const work = Array.from({ length: 50 }, (_, i) => {
        const own = new AbortController();
        setTimeout(() => own.abort(), (i % 10) * 8);
        return failure(client.post({ url: url(hanging.port), body: "{}", signal: own.signal }));
      });
      for (const error of await Promise.all(work))
        expect(error).toMatchObject({ reason: "aborted", retryable: false });
    }
    await until(() => hanging.open() === 0);
    const pending = failure(client.post({ url: url(hanging.port), body: "{}", signal: caller.signal }));
    await until(() => hanging.open() === 1);
    expect(getEventListeners(caller.signal, "abort").length).toBe(1);
    caller.abort();
    expect((await pending).requestStarted).toBeTypeOf("boolean");
    expect(getEventListeners(caller.signal, "abort").length).toBe(0);
    await until(() => hanging.open() === 0);
    expect(
      await failure(client.post({ url: url(hanging.port), body: "", signal: caller.signal })),
    ).toMatchObject({ reason: "aborted" });
  });

  it("an abort during the handshake ends the socket at once, not at the connect timeout", async () => {
    await using server = await startRaw((socket) => socket.resume(), false);
    await using client = clientFor(server.port, { timeouts: { totalMs: 60_000, connectMs: 60_000 } });
    const caller = new AbortController();
    const work = failure(client.post({ url: url(server.port), body: "{}", signal: caller.signal }));
    await until(() => server.open() === 1);
    caller.abort();
    expect(await work).toMatchObject({ reason: "aborted", requestStarted: false });
    await until(() => server.open() === 0);
  });

  it("a request that ended well has let go of the caller's signal", async () => {
    await using receiver = await startReceiver({ tls });
    await using client = clientFor(receiver.port);
    const { signal } = new AbortController();
    for (let i = 0; i < 3; i++) await client.post({ url: url(receiver.port), body: "{}", signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("one aborted request does not disturb its neighbours", async () => {
    await using receiver = await startReceiver({
      tls,
      handler: (_, response) => void setTimeout(() => response.writeHead(200).end(), 100),
    });
    await using client = clientFor(receiver.port);
    const work = Array.from({ length: 40 }, (_, i) => {
      const signal = i % 2 === 0 ? AbortSignal.timeout(30) : new AbortController().signal;
      return client.post({ url: url(receiver.port), body: "{}", signal }).then(
        ({ status }) => status,
        (error: EgressFailed) => error.reason,
      );
    });
    const outcomes = await Promise.all(work);
    expect(outcomes.filter((_, i) => i % 2 === 1)).toEqual(Array(20).fill(200));
    expect(new Set(outcomes.filter((_, i) => i % 2 === 0))).toEqual(new Set(["aborted"]));
  });

  it("close ends idle and busy connections and refuses new work", async () => {
    await using receiver = await startReceiver({
      tls,
      handler: (request, response) => void (request.url === "/fast" && response.end()),
    });
    await using client = clientFor(receiver.port);
    await client.post({ url: `https://hook.example.com:${receiver.port}/fast`, body: "{}" });
    const busy = failure(client.post({ url: url(receiver.port), body: "{}" }));
    await until(() => receiver.hits.length === 2);
    await client.close();
    expect(await busy).toMatchObject({ reason: "closed", requestStarted: true });
    expect(await failure(client.post({ url: url(receiver.port), body: "{}" }))).toMatchObject({
      reason: "closed",
    });
    await until(() => receiver.open() === 0);
  });

  it("idle connections of many destinations are bounded", async () => {
    await using receiver = await startReceiver({ tls: authority.issue({ names: ["*.example.com"] }) });
    const names = Array.from({ length: 30 }, (_, i) => `h${i}.example.com`);
    const resolver = tableResolver(Object.fromEntries(names.map((name) => [name, [["127.0.0.1"]]])));
    await using client = clientFor(receiver.port, { resolver, maxDestinations: 5 });
    for (const name of names) await client.post({ url: `https://${name}:${receiver.port}/`, body: "{}" });
    await until(() => receiver.open() <= 5);
  });
});

it("a refusal says which arm and nothing that DNS answered", async () => {
  await using client = clientFor(443, { resolver: tableResolver({ "hook.example.com": [["10.1.2.3"]] }) });
  const error = await client.check(url(443)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EgressDenied);
  expect((error as EgressDenied).message).toBe("the destination is refused (address: address_not_public)");
  expect((error as EgressDenied).decision).toMatchObject({
    range: "private-10",
    addresses: [{ address: "10.1.2.3" }],
  });
  expect(inspect(error, { depth: 10 })).not.toContain("s3cr3t");
});
