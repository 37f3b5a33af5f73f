import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { GetTaskRequest, ListTasksRequest, SendMessageRequest } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { startA2AServer, type TestServer } from "./a2a-server.ts";
import { jsonRpcClient, message } from "./jsonrpc-client.ts";

let server: TestServer;
const { post, rpc } = jsonRpcClient(() => server);

beforeAll(async () => {
  server = await startA2AServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.seen.length = 0;
});

describe("params", () => {
  it("FR-1 nulls in data and metadata are kept, in order", async () => {
    const parts = [{ data: null }, { data: { a: null, b: [null, 1] } }];
    const { result } = (await rpc("SendMessage", message("", { parts, metadata: { x: null } }))).json;
    expect(result.task.history[0].parts).toEqual(parts);
    expect(result.task.history[0].metadata).toEqual({ x: null });
  });

  it("FR-5 unknown fields are ignored at every depth", async () => {
    const params = {
      message: { messageId: "u1", role: "ROLE_USER", parts: [{ text: "echo", hue: "red" }], mood: 1 },
      configuration: { shiny: true },
      later: { x: [1] },
    };
    const { result } = (await rpc("SendMessage", params)).json;
    expect(result.task.history[0]).toEqual({
      messageId: "u1",
      role: "ROLE_USER",
      parts: [{ text: "echo" }],
    });
  });

  it("FR-7 integers for enums and snake_case names are understood", async () => {
    const params = {
      message: { message_id: "s1", role: 1, parts: [{ text: "echo", media_type: "text/plain" }] },
    };
    const { result } = (await rpc("SendMessage", params)).json;
    expect(result.task.history[0]).toMatchObject({ messageId: "s1", role: "ROLE_USER" });
    expect(result.task.history[0].parts[0].mediaType).toBe("text/plain");
  });

  it("FR-9 empty structs round-trip", async () => {
    const params = { ...message("", { parts: [{ data: {} }], metadata: {} }), metadata: {} };
    const { result } = (await rpc("SendMessage", params)).json;
    expect(result.task.history[0]).toMatchObject({ parts: [{ data: {} }], metadata: {} });
    expect((server.seen[0]?.request as SendMessageRequest | undefined)?.metadata).toEqual({});
  });

  it.each([
    ["message.role", message("x", { role: "user" })],
    ["message.role", message("x", { role: "ROLE_ROBOT" })],
    ["message.parts[1].text", message("x", { parts: [{ text: "a" }, { text: 5 }] })],
    ["message.parts[0].data", message("x", { parts: [{ text: "a", data: 1 }] })],
    ["message.parts", message("x", { parts: [] })],
    ["message.messageId", message("x", { messageId: "" })],
    ["configuration.historyLength", { ...message("x"), configuration: { historyLength: 1.5 } }],
    ["configuration.historyLength", { ...message("x"), configuration: { historyLength: 2147483648 } }],
    ["configuration.returnImmediately", { ...message("x"), configuration: { returnImmediately: "yes" } }],
    ["message.referenceTaskIds[1]", message("x", { referenceTaskIds: ["a", null] })],
    ["message.messageId", message("x", { message_id: "m2" })],
    ["metadata", { ...message("x"), metadata: [] }],
  ])("A2A-2, A2A-156 names %s", async (field, params) => {
    const { error } = (await rpc("SendMessage", params)).json;
    expect(error.code).toBe(-32602);
    const badRequest = error.data.find((each: { "@type": string }) => each["@type"].endsWith("BadRequest"));
    expect(badRequest.fieldViolations.map((each: { field: string }) => each.field)).toContain(field);
    expect(server.seen).toEqual([]);
  });

  it("a number that overflows is refused with its field, for it could never be printed again", async () => {
    const body =
      '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"a":[1e400]}}]}}}';
    const { error } = (await post(body)).json;
    expect(error.code).toBe(-32602);
    expect(error.data[1].fieldViolations[0].field).toBe("message.parts[0].data.a[0]");
  });

  it("half of a surrogate pair is refused", async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"\\ud800"}}';
    expect((await post(body)).json.error.code).toBe(-32602);
  });

  it.each([31, 1_000, 60_000])("a value %i levels deep is -32602 and not a crash", async (depth) => {
    const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${deep}}]}}}`;
    const answer = await post(body);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ id: 1, error: { code: -32602 } });
  });

  it("a key __proto__ is data", async () => {
    const body =
      '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"__proto__":{"x":1},"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"__proto__":{"a":1}}}]}}}';
    const answer = await post(body);
    expect(answer.text).toContain('"data":{"__proto__":{"a":1}}');
  });

  it("keeps the presence of historyLength 0", async () => {
    await rpc("GetTask", { id: "T1", historyLength: 0 });
    await rpc("GetTask", { id: "T1" });
    expect(server.seen.map(({ request }) => (request as GetTaskRequest).historyLength)).toEqual([
      0,
      undefined,
    ]);
  });

  it("A2A-61, A2A-62, FR-40 an empty page has exactly its four keys", async () => {
    const answer = await rpc("ListTasks", { contextId: "none" });
    expect(answer.text).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}}',
    );
  });

  it("A2A-66 artifacts are absent unless asked for, and [] when asked for", async () => {
    const { result: plain } = (await rpc("ListTasks", { includeArtifacts: false })).json;
    expect(Object.keys(plain.tasks[0])).toEqual(["id", "contextId", "status"]);
    const { result: asked } = (await rpc("ListTasks", { includeArtifacts: true })).json;
    expect(asked.tasks[0].artifacts).toEqual([]);
    expect(asked.tasks[0]).not.toHaveProperty("history");
  });

  it("A2A-115 whole seconds have three fraction digits", async () => {
    const { result } = (await rpc("GetTask", { id: "T1" })).json;
    expect(result.status).toEqual({ state: "TASK_STATE_WORKING", timestamp: "2026-01-02T03:04:05.000Z" });
  });

  it("FR-3 a filter time with an offset is the same instant", async () => {
    await rpc("ListTasks", { statusTimestampAfter: "2025-01-01T05:30:00+05:30" });
    const request = server.seen[0]?.request as ListTasksRequest | undefined;
    expect(request?.statusTimestampAfter?.seconds).toBe(BigInt(Date.UTC(2025, 0, 1) / 1000));
  });
});
