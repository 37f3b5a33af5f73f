import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { BatonError } from "../../../src/domain/errors.ts";
import { AUTH, startA2AServer, type TestServer } from "./a2a-server.ts";
import { type Reply, readSse, send1, send2 } from "./client.ts";
import { JSON_BODY, jsonRpcClient, message } from "./jsonrpc-client.ts";

let server: TestServer;
const { post, rpc } = jsonRpcClient(() => server);
const errors: BatonError[] = [];

beforeAll(async () => {
  server = await startA2AServer({ jsonrpc: { onError: (error) => errors.push(error) } });
});
afterAll(() => server.close());
beforeEach(() => {
  server.seen.length = 0;
  errors.length = 0;
});

describe("HTTP", () => {
  it.each(["GET", "PUT", "DELETE", "PATCH"])("A2A-134 %s is 405 with Allow", async (method) => {
    const answer = await send1(server.port1, { method, path: "/", headers: AUTH });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe("POST, OPTIONS");
    expect(answer.json).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32600 } });
  });

  it("answers OPTIONS without a credential", async () => {
    const answer = await send1(server.port1, { method: "OPTIONS" });
    expect([answer.status, answer.headers.allow, answer.text]).toEqual([204, "POST, OPTIONS", ""]);
  });

  it.each([
    "application/json",
    "application/a2a+json",
    "application/json; charset=utf-8",
    'Application/JSON;charset="UTF-8"',
  ])("A2A-126 accepts %s", async (type) => {
    expect((await rpc("GetTask", { id: "T1" }, { headers: { "content-type": type } })).json.result.id).toBe(
      "T1",
    );
  });

  it.each([
    "text/plain",
    "application/jsonx",
    "application/x-www-form-urlencoded",
    "application/json; charset=latin1",
    "",
  ])("A2A-126, FR-62 refuses %j with -32005", async (type) => {
    const answer = await rpc("GetTask", { id: "T1" }, { headers: { "content-type": type } });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ id: null, error: { code: -32005 } });
    expect(server.seen).toEqual([]);
  });

  it("refuses a compressed body", async () => {
    const answer = await rpc("GetTask", { id: "T1" }, { headers: { "content-encoding": "gzip" } });
    expect(answer.json.error.code).toBe(-32005);
  });

  it("A2A-8 every bad credential is 401 with the same body and a challenge, before the body is looked at", async () => {
    const answers: Reply[] = [];
    for (const authorization of [undefined, "Bearer wrong", "Basic eDp5", "Bearer acm", ""]) {
      const headers = { ...JSON_BODY, ...(authorization === undefined ? {} : { authorization }) };
      answers.push(await send1(server.port1, { method: "POST", headers, body: "not json" }));
    }
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      expect(answer.headers["www-authenticate"]).toBe('Bearer realm="baton"');
    }
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.json).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -31401 } });
  });

  it("A2A-8 a bad credential is refused while the body is still on its way", async () => {
    const body = "x".repeat(100_000);
    const headers = { ...JSON_BODY, "content-length": "200000" };
    const { request } = await import("node:http");
    const status = await new Promise<number>((resolve, reject) => {
      const sent = request({ port: server.port1, method: "POST", headers, agent: false }, (response) => {
        resolve(response.statusCode ?? 0);
        sent.destroy();
      });
      sent.on("error", reject);
      sent.write(body);
    });
    expect(status).toBe(401);
  });

  it("RateLimited is 429 with Retry-After in whole seconds, and RetryInfo", async () => {
    const answer = await rpc("SendMessage", message("limited"));
    expect(answer.status).toBe(429);
    expect(answer.headers["retry-after"]).toBe("2");
    expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.json.error.data.at(-1)).toMatchObject({ retryDelay: "1.500s" });
  });

  it("A2A-160 internal causes are told to the operator and not sent", async () => {
    const answer = await rpc("SendMessage", message("boom"));
    expect(answer.status).toBe(200);
    expect(answer.json.error).toMatchObject({ code: -32603, message: "internal error" });
    expect(answer.text).not.toContain("redis");
    expect(String(errors[0]?.cause)).toContain("redis://secret");
  });

  it("A2A-154 an A2A error carries ErrorInfo in data", async () => {
    const { error } = (await rpc("GetTask", { id: "nope" })).json;
    expect(error).toMatchObject({ code: -32001 });
    expect(error.data).toEqual([
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "TASK_NOT_FOUND",
        domain: "a2a-protocol.org",
        metadata: { taskId: "nope" },
      },
    ]);
  });
});

describe("tenants", () => {
  const getTask = { id: "T1" };

  it.each(["/acme", "/acme/", "//acme", "/", "//"])("A2A-123 serves POST %s", async (path) => {
    const answer = await rpc("GetTask", getTask, { path });
    expect(answer.json.result.id).toBe("T1");
    expect(server.seen[0]?.call.agent).toBe("acme");
  });

  it("FR-48 a tenant with a slash is one encoded segment, decoded once", async () => {
    const headers = { authorization: "Bearer team/blue" };
    const good = await rpc("GetTask", getTask, { path: "/team%2Fblue", headers });
    expect(good.json.result.id).toBe("T1");
    expect(server.seen[0]?.call.agent).toBe("team/blue");
    const twice = await rpc("GetTask", getTask, { path: "/team%252Fblue", headers });
    expect(twice.status).toBe(404);
    const cut = await rpc("GetTask", getTask, { path: "/team/blue", headers });
    expect(cut.status).toBe(404);
  });

  it("A2A-17 an unknown tenant of the path is 404 and a contradiction of path and params -32602", async () => {
    expect((await rpc("GetTask", getTask, { path: "/whatever" })).status).toBe(404);
    const answer = await rpc("GetTask", { ...getTask, tenant: "other" }, { path: "/acme" });
    expect(answer.json.error.code).toBe(-32602);
    expect(server.seen).toEqual([]);
  });

  it("a malformed escape in the path is refused", async () => {
    expect((await rpc("GetTask", getTask, { path: "/%zz" })).json.error.code).toBe(-32600);
  });

  it("does not take a path whose word is reserved for others", async () => {
    const other = await startA2AServer({ jsonrpc: { reserved: new Set(["healthz"]) } });
    try {
      const answer = await send1(other.port1, { method: "GET", path: "/healthz" });
      expect([answer.status, answer.text]).toEqual([404, ""]);
    } finally {
      await other.close();
    }
  });

  it("leaves the fixed words of HTTP+JSON alone", async () => {
    const answer = await rpc("GetTask", getTask, { path: "/extendedAgentCard" });
    expect(answer.status).toBe(405);
    expect(answer.json.error.status).toBe("UNIMPLEMENTED");
  });
});

describe("streams", () => {
  it.each(["1", '"abc"', "0", "null", "9007199254740993"])(
    "A2A-137, FR-36 each frame has the envelope and the id %s",
    async (id) => {
      const params = JSON.stringify({ id: "T1" });
      const answer = await post(`{"jsonrpc":"2.0","id":${id},"method":"SubscribeToTask","params":${params}}`);
      const events = readSse(answer.text);
      expect(events).toHaveLength(2);
      for (const { data } of events)
        expect(data.startsWith(`{"jsonrpc":"2.0","id":${id},"result":{`)).toBe(true);
      expect(events.map(({ id: position }) => position)).toEqual(["1", "2"]);
    },
  );

  it("FR-37 is an event stream with the headers that proxies need and those of the call", async () => {
    const answer = await rpc("SendStreamingMessage", message("hi"));
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-stream": "on",
    });
    expect(answer.headers["x-request-id"]).toBe(server.seen[0]?.call.requestId);
    expect(JSON.parse(readSse(answer.text)[1]?.data ?? "").result.statusUpdate.status.state).toBe(
      "TASK_STATE_COMPLETED",
    );
  });

  it("FR-37 over HTTP/2", async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params: { id: "T1" } });
    const answer = await send2(server.port2, { method: "POST", headers: { ...AUTH, ...JSON_BODY }, body });
    expect(answer.headers["content-type"]).toBe("text/event-stream");
    expect(readSse(answer.text)).toHaveLength(2);
  });

  it("A2A-139, FR-34 an early error is 200 with a JSON error", async () => {
    const headers = { accept: "text/event-stream" };
    const missing = await rpc("SubscribeToTask", { id: "nope" }, { headers });
    expect(missing.status).toBe(200);
    expect(missing.headers["content-type"]).toBe("application/json");
    expect(missing.json).toMatchObject({ id: 1, error: { code: -32001 } });
    const invalid = await rpc("SendStreamingMessage", message("x", { parts: [] }), { headers });
    expect(invalid.json.error.code).toBe(-32602);
  });

  it("A2A-139 an early error is one frame of a stream where that is chosen", async () => {
    const other = await startA2AServer({ jsonrpc: { earlyStreamErrors: "sse" } });
    try {
      const body = (method: string): string =>
        JSON.stringify({ jsonrpc: "2.0", id: 4, method, params: { id: "nope" } });
      const sent = { method: "POST", headers: { ...AUTH, ...JSON_BODY } };
      const stream = await send1(other.port1, { ...sent, body: body("SubscribeToTask") });
      expect(stream.headers["content-type"]).toBe("text/event-stream");
      const frames = readSse(stream.text).map(({ data }) => JSON.parse(data));
      expect(frames).toMatchObject([{ jsonrpc: "2.0", id: 4, error: { code: -32001 } }]);
      const unary = await send1(other.port1, { ...sent, body: body("GetTask") });
      expect(unary.headers["content-type"]).toBe("application/json");
    } finally {
      await other.close();
    }
  });

  it("A2A-140 a late error is the last frame, in the envelope, without internals", async () => {
    const late = readSse((await rpc("SendStreamingMessage", message("late"))).text);
    expect(JSON.parse(late[1]?.data ?? "")).toMatchObject({
      id: 1,
      error: { code: -32603, message: "too slow" },
    });
    const crash = readSse((await rpc("SendStreamingMessage", message("crash"))).text);
    expect(JSON.parse(crash[1]?.data ?? "").error.message).toBe("internal error");
    expect(JSON.stringify(crash)).not.toContain("redis");
    expect(crash).toHaveLength(2);
  });
});
