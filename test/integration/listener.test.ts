import { once } from "node:events";
import { Agent, get as httpGet, request as httpRequest } from "node:http";
import { type ClientHttp2Session, constants, connect as h2connect } from "node:http2";
import { connect, type Socket } from "node:net";
import { setImmediate as immediate, setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { type Listener, type ListenerOptions, startListener } from "../../src/server/listener.ts";
import { SECURITY_HEADERS } from "../../src/server/security-headers.ts";
import type { HttpHandler } from "../../src/transports/http-handler.ts";

const gates = new Map<string, () => void>();

/** Echoes the body; `/hold` answers when its gate is opened; `/stream` sends one chunk and stays open; `/boom` throws. */
const handler: HttpHandler = async (request, response) => {
  const path = request.url ?? "";
  if (path === "/missing") return false;
  if (path === "/boom") throw new Error("secret detail");
  if (path.startsWith("/hold")) {
    gates.set(path, () => response.end(`held ${path}`));
    if (path.startsWith("/hold-open")) (response as { flushHeaders(): void }).flushHeaders();
    return true;
  }
  if (path === "/stream") {
    response.setHeader("cache-control", "no-cache, no-transform");
    response.setHeader("content-type", "text/event-stream");
    (response as { write(chunk: string): boolean }).write("data: 1\n\n");
    return true;
  }
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => {
    body += chunk;
  });
  request.on("end", () => response.end(`${request.httpVersion} ${request.method} ${path} ${body}`));
  return true;
};

const open: Listener[] = [];
const clients: { destroy(): void }[] = [];

async function start(options: Partial<ListenerOptions> = {}): Promise<Listener> {
  const listener = await startListener({ host: "127.0.0.1", port: 0, handlers: [handler], ...options });
  open.push(listener);
  return listener;
}

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  for (const listener of open.splice(0)) await listener.close();
  gates.clear();
});

function raw(port: number): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.setNoDelay(true);
  socket.on("error", () => {});
  clients.push(socket);
  return socket;
}

/** Everything the server sends until it closes the connection. */
async function untilClosed(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  await once(socket, "close");
  return text;
}

function h2(listener: Listener): ClientHttp2Session {
  const session = h2connect(listener.url);
  session.on("error", () => {});
  clients.push(session);
  return session;
}

interface H2Answer {
  readonly headers: Record<string, unknown>;
  readonly body: string;
}

function h2request(session: ClientHttp2Session, path: string, body = "", extra = {}): Promise<H2Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path, ":method": body === "" ? "GET" : "POST", ...extra });
    let headers = {};
    let text = "";
    stream.on("response", (received) => {
      headers = received;
    });
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    stream.on("error", reject);
    stream.on("close", () => {
      if (":status" in headers && stream.rstCode === 0) resolve({ headers, body: text });
      else reject(new Error(`closed with ${stream.rstCode}`));
    });
    // A GET is ended by the client itself.
    if (body !== "") stream.end(body);
  });
}

async function h1request(listener: Listener, path: string, agent?: Agent) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>(
    (resolve, reject) => {
      const request = httpGet(`${listener.url}${path}`, agent === undefined ? {} : { agent }, (response) => {
        let body = "";
        response.on("data", (chunk: Buffer) => {
          body += chunk.toString();
        });
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
        );
        response.on("error", reject);
      });
      request.on("error", reject);
    },
  );
}

describe("one port", () => {
  it("serves HTTP/1.1 and HTTP/2 with prior knowledge", async () => {
    const listener = await start();
    expect((await h1request(listener, "/a")).body).toBe("1.1 GET /a ");
    expect((await h2request(h2(listener), "/b", "hello")).body).toBe("2.0 POST /b hello");
  });

  it("recognises a preface that arrives byte by byte", async () => {
    const listener = await start();
    const socket = raw(listener.port);
    for (const byte of Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) {
      socket.write(Buffer.of(byte));
      await sleep(2);
    }
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    const [first] = (await once(socket, "data")) as [Buffer];
    // The server's own SETTINGS frame: type 4 on stream 0.
    expect([first[3], first.readUInt32BE(5)]).toEqual([4, 0]);
  });

  it("reads a request line that begins like the preface as HTTP/1.1", async () => {
    const listener = await start();
    const socket = raw(listener.port);
    socket.write("P");
    await sleep(5);
    socket.write("R");
    await sleep(5);
    socket.write("OPFIND /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1\.1 200 [\s\S]*PROPFIND \/x/);
  });

  it("answers pipelined requests in order", async () => {
    const listener = await start();
    const socket = raw(listener.port);
    socket.write(
      "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiGET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    );
    const text = await untilClosed(socket);
    expect(text.match(/1\.1 (GET|POST) \/\d (hi)?/g)).toEqual([
      "1.1 GET /1 ",
      "1.1 POST /2 hi",
      "1.1 GET /3 ",
    ]);
  });

  it("reads a body that is split over many packets", async () => {
    const listener = await start();
    const socket = raw(listener.port);
    socket.write("POST /s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const part of ["5\r", "\nhel", "lo\r\n0", "\r\n\r\n"]) {
      await sleep(5);
      socket.write(part);
    }
    expect(await untilClosed(socket)).toContain("POST /s hello");
  });

  it("ignores Upgrade: h2c and goes on in HTTP/1.1", async () => {
    const listener = await start();
    const socket = raw(listener.port);
    socket.write(
      "GET /u HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
    );
    const [first] = (await once(socket, "data")) as [Buffer];
    expect(first.toString()).toMatch(/^HTTP\/1\.1 200 [\s\S]*GET \/u/);
    socket.write("GET /v HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    expect(await untilClosed(socket)).toContain("GET /v");
  });

  it("answers 400 to garbage and stays alive", async () => {
    const listener = await start();
    for (const garbage of [
      "\x16\x03\x01\x02\x00\x01\x00",
      "NOT HTTP AT ALL\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
    ]) {
      const socket = raw(listener.port);
      socket.write(Buffer.from(garbage, "latin1"));
      socket.end();
      expect(await untilClosed(socket)).toMatch(/^HTTP\/1\.1 400 /);
    }
    const broken = raw(listener.port);
    broken.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    broken.write(Buffer.alloc(4096, 0xff));
    await untilClosed(broken);
    expect((await h1request(listener, "/alive")).status).toBe(200);
  });

  it("answers the good request of a pipeline before it closes over the bad one", async () => {
    const listener = await start();
    const socket = raw(listener.port);
    socket.write("GET /good HTTP/1.1\r\nHost: a\r\n\r\n\x00\x01garbage\r\n\r\n");
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1\.1 200 [\s\S]*GET \/good/);
  });

  it("survives clients that reset in every phase", async () => {
    const listener = await start();
    for (const bytes of [
      "",
      "PRI * HT",
      "GET / HT",
      "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab",
    ]) {
      const socket = raw(listener.port);
      await once(socket, "connect");
      socket.write(bytes);
      await sleep(20);
      socket.resetAndDestroy();
    }
    const session = h2(listener);
    const stream = session.request({ ":path": "/stream" });
    stream.on("error", () => {});
    await once(stream, "response");
    stream.close(constants.NGHTTP2_CANCEL);
    await sleep(50);
    expect(listener.inFlight).toBe(0);
    expect((await h1request(listener, "/alive")).status).toBe(200);
  });
});

describe("limits", () => {
  it("closes a connection that never says what it speaks", async () => {
    const listener = await start({ limits: { sniffTimeoutMs: 100 } });
    const silent = raw(listener.port);
    const partial = raw(listener.port);
    partial.write("PRI * HTTP");
    const began = Date.now();
    expect(await Promise.all([untilClosed(silent), untilClosed(partial)])).toEqual(["", ""]);
    expect(Date.now() - began).toBeLessThan(2_000);
  });

  it("answers 408 to headers that drip in, and to a body that never ends", async () => {
    const listener = await start({ limits: { headersTimeoutMs: 200, requestTimeoutMs: 300 } });
    const headers = raw(listener.port);
    headers.write("GET / HTTP/1.1\r\n");
    const drip = setInterval(() => headers.write("X-A: b\r\n"), 50);
    const body = raw(listener.port);
    body.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc");
    try {
      expect(await untilClosed(headers)).toMatch(/^HTTP\/1\.1 408 /);
      expect(await untilClosed(body)).toMatch(/^HTTP\/1\.1 408 /);
    } finally {
      clearInterval(drip);
    }
  });

  it("answers 431 to headers over the limit, and resets the stream on HTTP/2", async () => {
    const listener = await start({ limits: { maxHeaderBytes: 2_048 } });
    const socket = raw(listener.port);
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\nX-Big: ${"x".repeat(3_000)}\r\n\r\n`);
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1\.1 431 /);
    const session = h2(listener);
    // Before the client has acknowledged our SETTINGS we answer; from then on nghttp2 resets the stream.
    const early = await h2request(session, "/", "", { "x-big": "x".repeat(3_000) });
    expect(early.headers[":status"]).toBe(431);
    await expect(h2request(session, "/", "", { "x-big": "x".repeat(3_000) })).rejects.toThrow(
      "ENHANCE_YOUR_CALM",
    );
    expect((await h2request(session, "/small")).body).toContain("/small");
  });

  it("drops connections over the limit", async () => {
    const listener = await start({ limits: { maxConnections: 1 } });
    const first = raw(listener.port);
    await once(first, "connect");
    await sleep(20);
    expect(await untilClosed(raw(listener.port))).toBe("");
  });

  it("announces the stream limit and refuses streams over it", async () => {
    const listener = await start({ limits: { maxConcurrentStreams: 3 } });
    const session = h2(listener);
    await once(session, "remoteSettings");
    expect(session.remoteSettings.maxConcurrentStreams).toBe(3);
  });

  it("closes an idle HTTP/2 session, not one with an open stream", async () => {
    const listener = await start({ limits: { sessionIdleMs: 100 } });
    const idle = h2(listener);
    await h2request(idle, "/x");
    const busy = h2(listener);
    const held = h2request(busy, "/hold-idle");
    await once(idle, "close");
    await sleep(200);
    gates.get("/hold-idle")?.();
    expect((await held).body).toBe("held /hold-idle");
  });
});

describe("SB-54 security headers", () => {
  const expected = (headers: Record<string, unknown>): void => {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) expect(headers[name], name).toBe(value);
  };

  it("are on answers, 404 and 500 of both protocols", async () => {
    const listener = await start();
    const session = h2(listener);
    for (const path of ["/ok", "/missing", "/boom"]) {
      expected((await h1request(listener, path)).headers);
      expected((await h2request(session, path)).headers);
    }
    expect((await h1request(listener, "/missing")).status).toBe(404);
    const boom = await h2request(session, "/boom");
    expect(boom.headers[":status"]).toBe(500);
    expect(boom.body).not.toContain("secret");
    expect(JSON.parse(boom.body).error.details[0]).toMatchObject({
      reason: "INTERNAL_ERROR",
      domain: "a2a-protocol.org",
    });
  });

  it("are on a stream, with the handler's own Cache-Control", async () => {
    const listener = await start();
    const request = httpRequest(`${listener.url}/stream`).end();
    request.on("error", () => {});
    clients.push(request);
    const [response] = await once(request, "response");
    expected({ ...response.headers, "cache-control": "no-store" });
    expect(response.headers["cache-control"]).toBe("no-cache, no-transform");
  });

  it("are on what the protocol itself refuses", async () => {
    const listener = await start();
    const requests = {
      garbage: "NOT HTTP\r\n\r\n",
      noHost: "GET / HTTP/1.1\r\n\r\n",
      expectation: "GET / HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\n\r\n",
    };
    for (const [name, text] of Object.entries(requests)) {
      const socket = raw(listener.port);
      socket.write(text);
      const answer = (await untilClosed(socket)).toLowerCase();
      expect(answer, name).toMatch(/^http\/1\.1 4\d\d /);
      for (const [header, value] of Object.entries(SECURITY_HEADERS)) {
        expect(answer, name).toContain(`${header}: ${value.toLowerCase()}`);
      }
    }
  });
});

describe("drain", () => {
  it("G1 finishes what is in flight on HTTP/2, refuses what is new, and ends", async () => {
    const listener = await start();
    const session = h2(listener);
    const goaways: number[] = [];
    session.on("goaway", (_code, last) => goaways.push(last));
    const held = h2request(session, "/hold-1");
    await expect.poll(() => gates.has("/hold-1")).toBe(true);
    const drained = listener.drain(5_000);
    await expect.poll(() => goaways, { timeout: 2_000 }).toEqual([2 ** 31 - 1, 1]);
    await expect(h2request(session, "/late")).rejects.toThrow();
    await expect(h1request(listener, "/late")).rejects.toThrow(/ECONNREFUSED/);
    gates.get("/hold-1")?.();
    expect((await held).body).toBe("held /hold-1");
    await drained;
    expect(listener.inFlight).toBe(0);
  });

  it("G1 serves a request that crosses the first GOAWAY", async () => {
    const listener = await start();
    const session = h2(listener);
    const held = h2request(session, "/hold-5");
    await expect.poll(() => gates.has("/hold-5")).toBe(true);
    const crossing = h2request(session, "/crossing");
    // Now it has been written, and in this turn nobody reads.
    await immediate();
    const drained = listener.drain(2_000);
    expect((await crossing).body).toBe("2.0 GET /crossing ");
    gates.get("/hold-5")?.();
    expect((await held).body).toBe("held /hold-5");
    await drained;
  });

  it("serves what has just connected when the drain begins, and then closes", async () => {
    const listener = await start();
    const early = raw(listener.port);
    await once(early, "connect");
    // The server has the connection, though not yet a byte of it.
    await h1request(listener, "/after");
    const drained = listener.drain(2_000);
    early.write("GET /early HTTP/1.1\r\nHost: a\r\n\r\n");
    const answer = await untilClosed(early);
    expect(answer).toContain("1.1 GET /early");
    expect(answer.toLowerCase()).toContain("connection: close");
    await drained;
  });

  it("closes a connection with the last bytes of a stream that began before the drain", async () => {
    const listener = await start();
    const socket = raw(listener.port);
    const all = untilClosed(socket);
    socket.write("GET /hold-open HTTP/1.1\r\nHost: a\r\n\r\n");
    await expect.poll(() => gates.has("/hold-open")).toBe(true);
    const drained = listener.drain(5_000);
    await sleep(50);
    const began = Date.now();
    gates.get("/hold-open")?.();
    const answer = await all;
    expect(answer.toLowerCase()).toContain("connection: keep-alive");
    expect(answer).toContain("held /hold-open");
    expect(Date.now() - began).toBeLessThan(500);
    await drained;
  });

  it("carries out nothing that a client sends before it sees that end", async () => {
    const listener = await start();
    const socket = raw(listener.port);
    socket.allowHalfOpen = true;
    const ended = once(socket, "end");
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.write("GET /hold-open HTTP/1.1\r\nHost: a\r\n\r\n");
    await expect.poll(() => gates.has("/hold-open")).toBe(true);
    const drained = listener.drain(5_000);
    await sleep(50);
    gates.get("/hold-open")?.();
    await ended;
    socket.write("POST /hold-late HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na");
    await drained;
    expect(text).toContain("held /hold-open");
    expect([...gates.keys()]).toEqual(["/hold-open"]);
  });

  it("tells clients to drop idle connections sooner than it does, where a drain will close them", async () => {
    const listener = await start({ limits: { keepAliveHintMs: 3_000 } });
    const agent = new Agent({ keepAlive: true });
    clients.push(agent);
    const { headers } = await h1request(listener, "/a", agent);
    expect([headers.connection, headers["keep-alive"]]).toEqual(["keep-alive", "timeout=3"]);
    listener.retire();
    const last = await h1request(listener, "/b", agent);
    expect([last.headers.connection, last.headers["keep-alive"]]).toEqual(["close", undefined]);
  });

  it("before a drain it serves on, and answers Connection: close, so that clients connect anew", async () => {
    const listener = await start();
    const agent = new Agent({ keepAlive: true });
    clients.push(agent);
    expect((await h1request(listener, "/a", agent)).headers.connection).toBe("keep-alive");
    listener.retire();
    for (const path of ["/b", "/c"]) {
      const answer = await h1request(listener, path, agent);
      expect(answer.body).toBe(`1.1 GET ${path} `);
      expect(answer.headers.connection).toBe("close");
    }
    expect((await h2request(h2(listener), "/d")).body).toBe("2.0 GET /d ");
  });

  it("sends Connection: close on HTTP/1.1 and closes idle connections", async () => {
    const listener = await start();
    const agent = new Agent({ keepAlive: true });
    clients.push(agent);
    await h1request(listener, "/warm", agent);
    const idle = raw(listener.port);
    idle.write("GET /idle HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(idle, "data");
    const held = h1request(listener, "/hold-2", agent);
    await expect.poll(() => gates.has("/hold-2")).toBe(true);
    const idleClosed = once(idle, "close");
    const drained = listener.drain(5_000);
    await idleClosed;
    gates.get("/hold-2")?.();
    const answer = await held;
    expect(answer.body).toBe("held /hold-2");
    expect(answer.headers.connection).toBe("close");
    await drained;
  });

  it("G13 cuts what outlives the limit", async () => {
    const listener = await start();
    const session = h2(listener);
    const stuck = h2request(session, "/hold-3");
    stuck.catch(() => {});
    const stuck1 = h1request(listener, "/hold-4");
    stuck1.catch(() => {});
    await expect.poll(() => gates.size).toBe(2);
    const began = Date.now();
    await listener.drain(300);
    expect(Date.now() - began).toBeGreaterThanOrEqual(290);
    expect(Date.now() - began).toBeLessThan(2_000);
    await expect(stuck).rejects.toThrow();
    await expect(stuck1).rejects.toThrow();
  });

  it("ends at once when nothing is in flight", async () => {
    const listener = await start();
    await h2request(h2(listener), "/x");
    const began = Date.now();
    await listener.drain(10_000);
    expect(Date.now() - began).toBeLessThan(1_000);
  });
});
