import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { openSession, startBareDoor } from "./bare-door.ts";
import { ACCEPT, RawMcp } from "./rig.ts";

const AGENTS = { agents: { main: {}, other: {} }, defaultAgent: "main" };

let gateway: TestGateway;
let credential: string;
let raw: RawMcp;

beforeAll(async () => {
  gateway = await startTestGateway(AGENTS);
  credential = await gateway.vendWorker();
  raw = new RawMcp(gateway.url, credential);
});
afterAll(() => gateway.stop());

const inSession = (id: string) => ({ "mcp-session-id": id });

describe("who may come in", () => {
  it("SB-1 no, wrong and malformed credentials are one 401 that says how to authenticate", async () => {
    const answers = await Promise.all(
      [undefined, "Bearer sbk_wrong", "Basic abc", `Bearer ${credential}x`].map(async (authorization) => {
        const response = await fetch(raw.url, {
          method: "POST",
          headers: { accept: ACCEPT, ...(authorization === undefined ? {} : { authorization }) },
          body: "{}",
        });
        expect(response.headers.get("www-authenticate")).toBe('Bearer realm="baton"');
        return [response.status, await response.text()];
      }),
    );
    expect(answers[0]?.[0]).toBe(401);
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  it("SB-2 the path of another agent is 403, of none 404, and the own one works", async () => {
    const status = async (path: string) => {
      const response = await new RawMcp(gateway.url, credential, path).initialize();
      await response.text();
      return response.status;
    };
    expect(await status("/mcp/other")).toBe(403);
    expect(await status("/mcp/nobody")).toBe(404);
    expect(await status("/mcp/main")).toBe(200);
    expect(await status("/mcp/main/more")).toBe(404);
  });

  it("pages of other origins are refused, pages of our own are not", async () => {
    expect((await raw.request("POST", {}, { origin: "https://evil.example" })).status).toBe(403);
    expect((await raw.request("POST", {}, { origin: "null" })).status).toBe(403);
    const own = await raw.request("DELETE", undefined, { origin: gateway.url, ...inSession("x") });
    expect(own.status).toBe(404);
  });

  it("pages of an origin that is configured are served, over a preflight", async () => {
    const origin = "https://app.example";
    const open = await startTestGateway({ listen: { port: 0, cors: { origins: [origin] } } });
    const peer = new RawMcp(open.url, await open.vendWorker());
    const preflight = await fetch(peer.url, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,mcp-session-id,mcp-protocol-version",
      },
    });
    expect(preflight.headers.get("access-control-allow-headers")).toMatch(/mcp-session-id/);
    expect(preflight.headers.get("access-control-allow-methods")).toMatch(/DELETE/);
    const refused = await peer.request("DELETE", undefined, { origin: "https://evil.example" });
    expect(refused.status).toBe(403);
    const gone = await peer.request("DELETE", undefined, { origin, ...inSession("x") });
    expect(gone.status).toBe(404);
    expect(gone.headers.get("access-control-expose-headers")).toMatch(/mcp-session-id/);
    await open.stop();
  });

  it("SB-51 too many requests are 429 and say when to come back", async () => {
    const limits = {
      perAddress: { perSecond: 100_000, burst: 100_000 },
      perEndpoint: { perSecond: 1, burst: 5 },
      send: { perSecond: 1, burst: 2 },
    };
    const tight = await startTestGateway({ limits });
    try {
      const peer = new RawMcp(tight.url, await tight.vend());
      const id = await peer.session();
      const sends = [];
      for (let i = 0; i < 3; i += 1) {
        const args = { name: "create_for", arguments: { title: `number ${i}` } };
        sends.push(await peer.rpc("tools/call", args, inSession(id)));
      }
      expect(sends.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(Number(sends[2]?.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      const other = new RawMcp(tight.url, await tight.vendWorker());
      const statuses = new Set<number>();
      for (let i = 0; i < 12; i += 1) statuses.add((await other.initialize()).status);
      expect(statuses).toEqual(new Set([200, 429]));
    } finally {
      await tight.stop();
    }
  });
});

describe("what a request must be", () => {
  it("other methods are 405 and named in Allow", async () => {
    const response = await raw.request("PUT", {});
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST, GET, DELETE"]);
  });

  it("SB-53 a body over 1 MiB is 413, declared or not; one just under is read", async () => {
    const declared = await raw.request("POST", "x".repeat(1024 * 1024 + 1));
    expect(declared.status).toBe(413);
    const chunks = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 17; i += 1) controller.enqueue(new Uint8Array(65_536).fill(0x20));
        controller.close();
      },
    });
    const chunked = await fetch(raw.url, {
      method: "POST",
      headers: raw.headers,
      body: chunks,
      duplex: "half",
    } as RequestInit);
    expect(chunked.status).toBe(413);
    const filler = "x".repeat(1024 * 1024 - 200);
    const under = await raw.rpc("ping", { filler }, inSession("nobody"));
    expect(under.status).toBe(404);
  });

  it("another media type is 415, an Accept that leaves out a form is 406", async () => {
    for (const type of ["text/plain", "application/xml"]) {
      expect((await raw.request("POST", "{}", { "content-type": type })).status).toBe(415);
    }
    const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: {} };
    expect((await raw.request("POST", initialize, { accept: "application/json" })).status).toBe(406);
    const id = await raw.session();
    expect((await raw.request("GET", undefined, { ...inSession(id), accept: "text/html" })).status).toBe(406);
  });

  it.each([
    ["no JSON", "{nope"],
    ["a list of calls", "[]"],
    ["a scalar", "7"],
    ["nested too deep", `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    ["no method and no session", "{}"],
    ["an initialize without parameters", '{"jsonrpc":"2.0","id":1,"method":"initialize"}'],
  ])("%s is 400", async (_what, body) => {
    const response = await raw.request("POST", body);
    expect([response.status, await response.json()]).toMatchObject([400, { jsonrpc: "2.0", id: null }]);
  });

  it("SB-54 answers and streams carry the security headers", async () => {
    const id = await raw.session();
    const abort = new AbortController();
    const stream = await fetch(raw.url, {
      headers: { ...raw.headers, ...inSession(id) },
      signal: abort.signal,
    });
    const answers = [stream, await raw.request("PUT", {}), await raw.rpc("ping", {}, inSession(id))];
    abort.abort();
    expect(stream.headers.get("content-type")).toBe("text/event-stream");
    for (const { headers } of answers) {
      expect(headers.get("content-security-policy")).toBe("default-src 'none'");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("cache-control")).toMatch(/no-store/);
    }
  });
});

describe("sessions", () => {
  it("another endpoint's session is 404 like one that never was, for every method", async () => {
    const id = await raw.session();
    const stranger = new RawMcp(gateway.url, await gateway.vendWorker());
    const answers = async (session: string) => {
      const all = [
        await stranger.rpc("tools/list", {}, inSession(session)),
        await stranger.request("GET", undefined, inSession(session)),
        await stranger.request("DELETE", undefined, inSession(session)),
      ];
      return Promise.all(all.map(async (response) => [response.status, await response.text()]));
    };
    const foreign = await answers(id);
    expect(foreign.map(([status]) => status)).toEqual([404, 404, 404]);
    expect(foreign).toEqual(await answers("11111111-2222-4333-8444-555555555555"));
    expect((await raw.rpc("tools/list", {}, inSession(id))).status).toBe(200);
  });

  it("DELETE ends a session and its stream", async () => {
    const id = await raw.session();
    const stream = await raw.listen(id);
    expect((await raw.request("DELETE", undefined, inSession(id))).status).toBe(200);
    await stream.ended;
    expect((await raw.rpc("ping", {}, inSession(id))).status).toBe(404);
    expect((await raw.request("DELETE", undefined, inSession(id))).status).toBe(404);
  });

  it("a second stream takes the place of the first, and the session goes on", async () => {
    const id = await raw.session();
    const first = await raw.listen(id);
    const second = await raw.listen(id);
    await first.ended;
    expect((await raw.rpc("ping", {}, inSession(id))).status).toBe(200);
    second.close();
  });

  it("SB-59 a revoked endpoint's session and stream end", async () => {
    const doomed = await gateway.vendWorker();
    const peer = new RawMcp(gateway.url, doomed);
    const id = await peer.session();
    const stream = await peer.listen(id);
    const open = gateway.openStreams;
    await gateway.revoke(doomed);
    await stream.ended;
    expect((await peer.rpc("ping", {}, inSession(id))).status).toBe(401);
    expect(gateway.openStreams).toBe(open - 1);
  });

  it("one endpoint has at most 64 sessions: the one used longest ago gives way", async () => {
    const peer = new RawMcp(gateway.url, await gateway.vendWorker());
    const ids: string[] = [];
    for (let i = 0; i < 64; i += 1) ids.push(await peer.session());
    expect((await peer.rpc("ping", {}, inSession(ids[0] ?? ""))).status).toBe(200);
    await peer.session();
    expect((await peer.rpc("ping", {}, inSession(ids[0] ?? ""))).status).toBe(200);
    expect((await peer.rpc("ping", {}, inSession(ids[1] ?? ""))).status).toBe(404);
    expect((await raw.initialize()).status).toBe(200);
  });

  it("drain ends streams, and answers what was asked before", async () => {
    const own = await startTestGateway();
    const peer = new RawMcp(own.url, await own.vendWorker());
    const id = await peer.session();
    const stream = await peer.listen(id);
    const call = { jsonrpc: "2.0", id: 9, method: "tools/call", params: { name: "list_todos" } };
    const body = JSON.stringify(call);
    const asked = request(peer.url, {
      method: "POST",
      headers: { ...peer.headers, ...inSession(id), expect: "100-continue", "content-length": body.length },
    });
    asked.flushHeaders();
    // The server has the request, and waits for its body.
    await once(asked, "continue");
    const started = Date.now();
    const stopped = own.stop(10_000);
    await stream.ended;
    asked.end(body);
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    expect(JSON.parse(await text(response))).toMatchObject({
      id: 9,
      result: { structuredContent: { todos: [] } },
    });
    await stopped;
    expect(Date.now() - started).toBeLessThan(8000);
  });

  it("HTTP/2 serves calls and streams alike", async () => {
    const session = connect(gateway.url);
    const send = (method: string, body: unknown, more: Record<string, string>) =>
      new Promise<{ headers: Record<string, unknown>; text: () => Promise<string>; close(): void }>(
        (resolve, reject) => {
          const stream = session.request({ ":method": method, ":path": "/mcp", ...raw.headers, ...more });
          stream.on("error", reject);
          stream.on("response", (headers) =>
            resolve({
              headers,
              text: async () => {
                let text = "";
                for await (const chunk of stream) text += chunk;
                return text;
              },
              close: () => stream.close(),
            }),
          );
          stream.end(body === undefined ? undefined : JSON.stringify(body));
        },
      );
    const clientInfo = { name: "h2", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const opened = await send("POST", { jsonrpc: "2.0", id: 1, method: "initialize", params }, {});
    expect(opened.headers[":status"]).toBe(200);
    expect(JSON.parse(await opened.text()).result).toMatchObject({
      protocolVersion: "2025-11-25",
      serverInfo: { name: "baton" },
      capabilities: { tools: {}, experimental: { "claude/channel": {} } },
    });
    const id = String(opened.headers["mcp-session-id"]);
    const stream = await send("GET", undefined, inSession(id));
    expect(stream.headers).toMatchObject({ ":status": 200, "content-type": "text/event-stream" });
    const ended = stream.text();
    await (await send("DELETE", undefined, inSession(id))).text();
    expect(await ended).toBe("");
    session.close();
  });
});

describe("the end of a session by its clocks", () => {
  let server: TestRedis;
  beforeAll(async () => {
    server = await startTestRedis();
  });
  afterAll(() => server.stop());

  it("an idle session ends after the idle time, one with an open stream does not", async () => {
    const door = await startBareDoor(server, { idleMs: 400 });
    const peer = new RawMcp(door.url, await door.vend());
    const [idle, listening] = [await peer.session(), await peer.session()];
    const stream = await peer.listen(listening);
    for (let i = 0; i < 3; i += 1) {
      await sleep(250);
      expect((await peer.rpc("ping", {}, inSession(idle))).status).toBe(200);
    }
    await sleep(900);
    expect((await peer.rpc("ping", {}, inSession(idle))).status).toBe(404);
    expect((await peer.rpc("ping", {}, inSession(listening))).status).toBe(200);
    stream.close();
    await sleep(900);
    expect((await peer.rpc("ping", {}, inSession(listening))).status).toBe(404);
    expect(door.core.streams.size).toBe(0);
    await door.stop();
  });

  it("SB-59 the session and stream of an endpoint that expires end at that instant", async () => {
    const door = await startBareDoor(server);
    const peer = new RawMcp(door.url, await door.vend({ expiresAt: Date.now() + 800 }));
    const id = await peer.session();
    const stream = await peer.listen(id);
    const opened = Date.now();
    await stream.ended;
    expect(Date.now() - opened).toBeLessThan(2000);
    expect((await peer.rpc("ping", {}, inSession(id))).status).toBe(401);
    expect(door.core.streams.size).toBe(0);
    await door.stop();
  });

  it("a call that is under way when its session ends is answered, the next one is not", async () => {
    const door = await startBareDoor(server);
    const { session, call, request: to } = await openSession(door);
    const list = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_todos" } };
    const answer = session.post(to("POST"), list, call);
    session.end();
    expect(await (await answer).json()).toMatchObject({
      id: 1,
      result: { structuredContent: { todos: [] } },
    });
    expect((await session.post(to("POST"), list, call)).status).toBe(404);
    await door.stop();
  });

  it("a call is answered although its client canceled it: what it did has happened", async () => {
    const door = await startBareDoor(server);
    const { session, call, request: to } = await openSession(door);
    const list = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_todos" } };
    const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
    const answer = session.post(to("POST"), list, call);
    expect((await session.post(to("POST"), cancel, call)).status).toBe(202);
    expect((await Promise.race([answer, sleep(3000)]))?.status).toBe(200);
    session.end();
    await door.stop();
  });

  it("a draining replica opens no session and no stream, and answers what still comes", async () => {
    const door = await startBareDoor(server);
    const peer = new RawMcp(door.url, await door.vend());
    const id = await peer.session();
    door.core.streams.drain();
    const refused = [await peer.initialize(), await peer.request("GET", undefined, inSession(id))];
    expect(refused.map(({ status }) => status)).toEqual([503, 503]);
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await peer.tool(id, "list_todos")).isError).toBe(false);
    expect(door.core.streams.size).toBe(0);
    await door.stop();
  });
});
