import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type {
  CancelTaskRequest,
  GetTaskPushNotificationConfigRequest,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { AUTH, startA2AServer, type TestServer } from "./a2a-server.ts";
import { type Reply, readSse, type Sent, send1, send2 } from "./client.ts";

const JSON_BODY = { "content-type": "application/json" };
const SEND = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } });
let server: TestServer;

beforeAll(async () => {
  server = await startA2AServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.seen.length = 0;
});

function call(method: string, path: string, body?: string, sent: Sent = {}): Promise<Reply> {
  const type: Record<string, string> = body === undefined ? {} : JSON_BODY;
  const headers = { ...AUTH, ...type, ...sent.headers };
  return send1(server.port1, { method, path, ...(body === undefined ? {} : { body }), ...sent, headers });
}

/** What the last request that reached a handler was. */
function last<T>(): { readonly method: string; readonly request: T } {
  const seen = server.seen.at(-1);
  if (seen === undefined) throw new Error("no request reached a handler");
  return { method: seen.method, request: seen.request as T };
}

describe("routes", () => {
  const table: [method: string, path: string, body: string | undefined, rpc: string][] = [
    ["POST", "/message:send", SEND, "SendMessage"],
    ["POST", "/message:stream", SEND, "SendStreamingMessage"],
    ["GET", "/tasks/T1", undefined, "GetTask"],
    ["GET", "/tasks", undefined, "ListTasks"],
    ["POST", "/tasks/T1:cancel", "{}", "CancelTask"],
    ["GET", "/tasks/T1:subscribe", undefined, "SubscribeToTask"],
    ["POST", "/tasks/T1:subscribe", undefined, "SubscribeToTask"],
    ["POST", "/tasks/T1/pushNotificationConfigs", '{"url":"https://x"}', "CreateTaskPushNotificationConfig"],
    ["GET", "/tasks/T1/pushNotificationConfigs/c1", undefined, "GetTaskPushNotificationConfig"],
    ["GET", "/tasks/T1/pushNotificationConfigs", undefined, "ListTaskPushNotificationConfigs"],
    ["DELETE", "/tasks/T1/pushNotificationConfigs/c1", undefined, "DeleteTaskPushNotificationConfig"],
    ["GET", "/extendedAgentCard", undefined, "GetExtendedAgentCard"],
  ];
  const prefixed = table.flatMap(([method, path, body, rpc]) =>
    ["", "/acme", "/"].map((prefix) => [method, prefix + path, body, rpc] as const),
  );

  it.each(prefixed)(
    "A2A-121 %s %s answers 200 with a JSON or event body",
    async (method, path, body, rpc) => {
      const answer = await call(method, path, body);
      expect([answer.status, last().method]).toEqual([200, rpc]);
      if (answer.headers["content-type"] === "text/event-stream")
        expect(readSse(answer.text)).toHaveLength(2);
      else expect(answer.json).toBeTypeOf("object");
    },
  );

  it.each(table)("A2A-123 %s %s/ with a trailing slash is the same", async (method, path, body, rpc) => {
    const answer = await call(method, `${path}/`, body);
    expect([answer.status, last().method]).toEqual([200, rpc]);
  });

  it.each(table)("A2A-121 %s %s over HTTP/2", async (method, path, body, rpc) => {
    const headers = { ...AUTH, ...(body === undefined ? {} : JSON_BODY) };
    const sent = { method, path, headers, ...(body === undefined ? {} : { body }) };
    expect([(await send2(server.port2, sent)).status, last().method]).toEqual([200, rpc]);
  });

  it("A2A-121 delete answers {}", async () => {
    expect((await call("DELETE", "/tasks/T1/pushNotificationConfigs/c1")).text).toBe("{}");
  });

  it.each([
    ["a%2Fb", "a/b"],
    ["a%3Ab", "a:b"],
    ["T%3Asubscribe", "T:subscribe"],
    ["T%253Asubscribe", "T%3Asubscribe"],
    ["urn:task:5", "urn:task:5"],
    ["%E2%82%AC", "€"],
    ["a+b", "a+b"],
  ])("A2A-56 the id %s is %s", async (raw, id) => {
    expect((await call("GET", `/tasks/${raw}`)).json.id).toBe(id);
    await call("POST", `/tasks/${raw}:cancel`);
    expect(last<CancelTaskRequest>().request.id).toBe(id);
    await call("GET", `/tasks/${raw}/pushNotificationConfigs/${raw}`);
    expect(last<GetTaskPushNotificationConfigRequest>().request).toMatchObject({ taskId: id, id });
  });

  it("FR-60 a verb is never part of an id", async () => {
    await call("GET", "/tasks/x:subscribe");
    expect(last()).toMatchObject({ method: "SubscribeToTask", request: { id: "x" } });
    const cancel = await call("GET", "/tasks/x:cancel");
    expect([cancel.status, cancel.headers.allow]).toEqual([405, "POST, OPTIONS"]);
    expect((await call("POST", "/tasks/:cancel")).status).toBe(404);
    expect((await call("GET", "/tasks//pushNotificationConfigs")).status).toBe(404);
    expect(server.seen).toHaveLength(1);
  });

  it.each([
    ["GET", undefined, {}],
    ["GET", undefined, { "content-type": "application/json" }],
    ["POST", undefined, {}],
    ["POST", undefined, { "content-type": "application/json" }],
    ["POST", undefined, { "content-type": "text/plain" }],
    ["POST", "{}", { "content-type": "application/json" }],
    ["POST", '{"id":"T1"}', { "content-type": "application/a2a+json" }],
  ])("FR-60 %s subscribe with body %j and %j", async (method, body, headers) => {
    const answer = await call(method, "/tasks/T1:subscribe", body, { headers });
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "text/event-stream"]);
  });

  it.each([
    ["PUT", "/tasks", "GET, OPTIONS, HEAD"],
    ["DELETE", "/tasks/T1", "GET, OPTIONS, HEAD"],
    ["GET", "/message:send", "POST, OPTIONS"],
    ["PUT", "/tasks/T1/pushNotificationConfigs/c", "GET, DELETE, OPTIONS, HEAD"],
    ["HEAD", "/tasks/T1:subscribe", "GET, POST, OPTIONS"],
  ])("%s %s is 405 with Allow: %s", async (method, path, allow) => {
    const answer = await call(method, path);
    expect(answer.status).toBe(405);
    expect(answer.headers.allow?.split(", ").toSorted()).toEqual(allow.split(", ").toSorted());
    if (method !== "HEAD") expect(answer.json.error).toMatchObject({ code: 405, status: "UNIMPLEMENTED" });
  });

  it("answers HEAD like GET without a body, and OPTIONS with what there is", async () => {
    const get = await call("GET", "/tasks/T1");
    const head = await call("HEAD", "/tasks/T1");
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers["content-length"]).toBe(get.headers["content-length"]);
    const options = await send1(server.port1, { method: "OPTIONS", path: "/tasks" });
    expect([options.status, options.headers.allow, options.text]).toEqual([204, "GET, OPTIONS, HEAD", ""]);
    const head2 = await send2(server.port2, { method: "HEAD", path: "/tasks/T1", headers: AUTH });
    expect([head2.status, head2.text]).toEqual([200, ""]);
  });

  it("a path of other parts is not its own", async () => {
    for (const path of [
      "/healthz/x",
      "/tasks/a/b",
      "/tasks/a/pushNotificationConfigs/b/c",
      "/acme/nothing",
    ]) {
      const answer = await call("GET", path);
      expect([answer.status, answer.text], path).toEqual([404, ""]);
    }
  });

  it("refuses a malformed escape", async () => {
    expect((await call("GET", "/tasks/%zz")).status).toBe(400);
    expect((await call("GET", "/tasks/%ff")).status).toBe(400);
  });
});

describe("tenants", () => {
  it("FR-47 an unknown tenant is 404 and nothing is done", async () => {
    for (const answer of [
      await call("GET", "/whatever/tasks"),
      await call("POST", "/whatever/message:send", SEND),
    ]) {
      expect(answer.status).toBe(404);
      expect(answer.json.error.code).toBe(404);
    }
    expect(server.seen).toEqual([]);
  });

  it("FR-47, A2A-17 path and body that name different tenants are 400; the same one is fine", async () => {
    const body = (tenant: string): string => JSON.stringify({ ...JSON.parse(SEND), tenant });
    const answer = await call("POST", "/acme/message:send", body("other"));
    expect(answer.status).toBe(400);
    expect(answer.json.error.details[1].fieldViolations[0].field).toBe("tenant");
    expect((await call("POST", "/acme/message:send", body("acme"))).status).toBe(200);
    expect(server.seen).toHaveLength(1);
  });

  it("FR-48 a tenant with a slash is one segment", async () => {
    const headers = { authorization: "Bearer team/blue" };
    const answer = await call("POST", "/team%2Fblue/message:send", SEND, { headers });
    expect(answer.status).toBe(200);
    expect(server.seen[0]?.call.agent).toBe("team/blue");
    expect((await call("POST", "/team/blue/message:send", SEND, { headers })).status).toBe(404);
  });

  it("a fixed word is never a tenant", async () => {
    expect((await call("GET", "/tasks/tasks/x")).status).toBe(404);
    expect((await call("GET", "/tasks/tasks")).json.id).toBe("tasks");
    expect((await call("GET", "/message:send/tasks")).status).toBe(404);
  });
});
