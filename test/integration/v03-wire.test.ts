/** A2A 0.3 as it looks on the wire, which the clients of an SDK do not show. */
import { randomUUID } from "node:crypto";
import { type Client, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AService, Role, TaskState } from "../../gen/a2a/v1/a2a_pb.js";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { TestWorker, workerTransport } from "../scenarios/actors.ts";

let gateway: TestGateway;
let worker: TestWorker;
let credential: string;

beforeAll(async () => {
  gateway = await startTestGateway({ agents: { default: {}, second: { discoverable: true } } });
  worker = new TestWorker(workerTransport(gateway.url, await gateway.vendWorker()));
  credential = await gateway.vend();
});

afterAll(() => gateway?.stop());

interface Answer {
  readonly status: number;
  readonly type: string;
  // The JSON of an answer is looked into freely.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly body: any;
}

async function http(path: string, init: RequestInit & { readonly as?: string } = {}): Promise<Answer> {
  const { as = credential, headers, ...rest } = init;
  const response = await fetch(`${gateway.url}${path}`, {
    ...rest,
    headers: {
      authorization: `Bearer ${as}`,
      ...(rest.body === undefined ? {} : { "content-type": "application/json" }),
      ...(headers as Record<string, string>),
    },
  });
  const text = await response.text();
  const type = response.headers.get("content-type") ?? "";
  const body = type.includes("json") && text !== "" ? JSON.parse(text) : text;
  return { status: response.status, type, body };
}

function rpc(method: unknown, params: unknown = {}, headers: Record<string, string> = {}): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: "r1", method, params });
  return http("/", { method: "POST", body, headers });
}

/** The documents of an event stream that has ended. */
// biome-ignore lint/suspicious/noExplicitAny: the JSON of an event is looked into freely
function documents(answer: Answer): any[] {
  const lines = String(answer.body).split("\n");
  return lines
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice("data: ".length)));
}

const kindMessage = (text: string, extra: object = {}) => ({
  kind: "message",
  messageId: randomUUID(),
  role: "user",
  parts: [{ kind: "text", text }],
  ...extra,
});

const protoMessage = (text: string, extra: object = {}) => ({
  messageId: randomUUID(),
  role: "ROLE_USER",
  content: [{ text }],
  ...extra,
});

async function start(): Promise<string> {
  const { body } = await rpc("message/send", {
    message: kindMessage("work"),
    configuration: { blocking: false },
  });
  return body.result.id;
}

/** The documents of a JSON-RPC stream as they arrive; ends when the server has closed it cleanly. */
// biome-ignore lint/suspicious/noExplicitAny: the JSON of an event is looked into freely
async function* open(method: string, params: object): AsyncGenerator<any> {
  const response = await fetch(`${gateway.url}/`, {
    method: "POST",
    headers: { authorization: `Bearer ${credential}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: "r1", method, params }),
  });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block.split("\n").find((line) => line.startsWith("data: "));
      if (data !== undefined) yield JSON.parse(data.slice("data: ".length));
    }
  }
}

describe("JSON-RPC 0.3", () => {
  it("FR-64 A2A-135 all ten names are known, and names near them are not", async () => {
    const names = [
      "message/send",
      "message/stream",
      "tasks/get",
      "tasks/cancel",
      "tasks/resubscribe",
      "tasks/pushNotificationConfig/set",
      "tasks/pushNotificationConfig/get",
      "tasks/pushNotificationConfig/list",
      "tasks/pushNotificationConfig/delete",
      "agent/getAuthenticatedExtendedCard",
    ];
    for (const name of names) expect((await rpc(name)).body.error?.code, name).not.toBe(-32601);
    for (const name of [
      "tasks/list",
      "message/Send",
      "tasks/get ",
      "tasks",
      "constructor",
      "__proto__",
      "",
    ]) {
      expect((await rpc(name)).body.error.code, name).toBe(-32601);
    }
    expect((await rpc(7)).body.error.code).toBe(-32600);
  });

  it("A2A-20 A2A-135 the version and the name must agree", async () => {
    const get = { id: "x" };
    for (const version of ["0.3", "0.3.0", " "]) {
      expect((await rpc("tasks/get", get, { "a2a-version": version })).body.error.code, version).toBe(-32001);
    }
    expect((await rpc("tasks/get", get, { "a2a-version": "1.0" })).body.error.code).toBe(-32601);
    expect((await rpc("GetTask", get, { "a2a-version": "0.3" })).body.error.code).toBe(-32601);
    const unknown = await rpc("tasks/get", get, { "a2a-version": "0.5" });
    expect(unknown.body.error).toEqual({ code: -32009, message: expect.stringContaining("1.0, 0.3") });
  });

  it("A2A-161 A2A-165 A2A-173 a message with every kind of part goes in and comes back", async () => {
    const parts = [
      { kind: "text", text: "hi", metadata: { a: 1 } },
      { kind: "file", file: { bytes: "aGk=", name: "hi.txt", mimeType: "text/plain" } },
      { kind: "file", file: { uri: "https://files.example/x" } },
      { kind: "data", data: { k: [1, null] } },
      { kind: "data", data: { value: [1] }, metadata: { data_part_compat: true } },
    ];
    const message = { ...kindMessage(""), parts, referenceTaskIds: ["t0"], unknownMember: true };
    const sent = await rpc("message/send", { message, configuration: { blocking: false }, more: 1 });
    expect(sent.body.result).toMatchObject({ kind: "task", status: { state: "submitted" } });
    const { body } = await rpc("tasks/get", { id: sent.body.result.id, historyLength: 5 });
    const [history] = body.result.history;
    expect(history).toMatchObject({ kind: "message", role: "user", parts, referenceTaskIds: ["t0"] });
    expect(history).not.toHaveProperty("unknownMember");
    const modern = await http(`/tasks/${sent.body.result.id}`, { headers: { "a2a-version": "1.0" } });
    expect(modern.body.history[0].parts[4]).toEqual({ data: [1] });
    expect(modern.body.history[0].parts[1]).toEqual({
      raw: "aGk=",
      filename: "hi.txt",
      mediaType: "text/plain",
    });
  });

  it("A2A-161 kinds may be missing where the place says them", async () => {
    const message = { messageId: randomUUID(), role: "user", parts: [{ text: "a" }, { data: {} }] };
    const { body } = await rpc("message/send", { message, configuration: { blocking: false } });
    expect(body.result.kind).toBe("task");
  });

  it.each([
    ["message.role", { role: "ROLE_USER" }],
    ["message.role", { role: "agent" }],
    ["message.role", { role: 1 }],
    ["message.role", { role: undefined }],
    ["message.kind", { kind: "task" }],
    ["message.messageId", { messageId: undefined }],
    ["message.messageId", { messageId: "  " }],
    ["message.parts", { parts: [] }],
    ["message.parts", { parts: {} }],
    ["message.parts[0]", { parts: [7] }],
    ["message.parts[0]", { parts: [{}] }],
    ["message.parts[0].kind", { parts: [{ kind: "image", text: "a" }] }],
    ["message.parts[0].text", { parts: [{ kind: "text" }] }],
    ["message.parts[0].file", { parts: [{ kind: "file", file: {} }] }],
    ["message.parts[0].file", { parts: [{ kind: "file", file: { bytes: "aGk=", uri: "x:y" } }] }],
    ["message.parts[0].file.bytes", { parts: [{ kind: "file", file: { bytes: "%" } }] }],
    ["message.parts[0].file.mimeType", { parts: [{ kind: "file", file: { uri: "x:y", mimeType: 1 } }] }],
    ["message.parts[0].data", { parts: [{ kind: "data", data: [1] }] }],
  ])("A2A-176 names %s in %j", async (field, extra) => {
    const { body } = await rpc("message/send", { message: kindMessage("x", extra) });
    expect(body.error.code).toBe(-32602);
    expect(body.error.message.startsWith(`${field}: `), body.error.message).toBe(true);
  });

  it("A2A-176 names the members of a configuration", async () => {
    const message = kindMessage("x");
    const bad = async (configuration: object) =>
      (await rpc("message/send", { message, configuration })).body.error.message.split(":")[0];
    expect(await bad({ blocking: "yes" })).toBe("configuration.blocking");
    expect(await bad({ historyLength: -1 })).toBe("configuration.historyLength");
    expect(await bad({ pushNotificationConfig: {} })).toBe("configuration.pushNotificationConfig.url");
  });

  it("A2A-176 names the id of a push registration's task as its caller does", async () => {
    const push = await gateway.vend({ push: true });
    for (const [method, id] of [
      ["get", " "],
      ["list", " "],
      ["delete", " "],
      // No resource name can be made of it.
      ["get", "t/pushNotificationConfigs-"],
      ["list", "t/pushNotificationConfigs-"],
      ["delete", 7],
    ] as const) {
      const params = { id, pushNotificationConfigId: "c" };
      const call = { jsonrpc: "2.0", id: 1, method: `tasks/pushNotificationConfig/${method}`, params };
      const body = JSON.stringify(call);
      const { error } = (await http("/", { method: "POST", body, as: push })).body;
      expect(error.code, method).toBe(-32602);
      expect(error.message, method).toMatch(/^id: /);
    }
  });

  it("A2A-172 errors have the codes of 1.0, and no data that some client would not read", async () => {
    const missing = await rpc("tasks/get", { id: "nope" });
    expect(missing.status).toBe(200);
    expect(missing.body.error).toEqual({ code: -32001, message: "task not found" });
  });

  it("A2A-170 historyLength 0 is none, absent is all", async () => {
    const id = await start();
    expect((await rpc("tasks/get", { id, historyLength: 0 })).body.result).not.toHaveProperty("history");
    expect((await rpc("tasks/get", { id })).body.result.history).toHaveLength(1);
  });

  it("FR-67 A2A-163 a stream ends after an event that says it is final", async () => {
    const id = await start();
    await worker.claim(id);
    const asked = open("tasks/resubscribe", { id });
    const events = [(await asked.next()).value];
    await worker.askAuth(id, "log in");
    await rpc("message/send", {
      message: kindMessage("done", { taskId: id }),
      configuration: { blocking: false },
    });
    await worker.ask(id, "which one?");
    for await (const event of asked) events.push(event);
    expect(events.map(({ id: frame }) => frame)).toEqual(events.map(() => "r1"));
    expect(events[0].result).toMatchObject({ kind: "task", id, status: { state: "working" } });
    const updates = events.slice(1).map(({ result }) => result);
    expect(updates.every(({ kind }) => kind === "status-update")).toBe(true);
    expect(updates[0]).toMatchObject({ status: { state: "auth-required" }, final: false });
    expect(updates.at(-1)).toMatchObject({
      status: { state: "input-required", message: { kind: "message", role: "agent" } },
      final: true,
    });

    const replied = open("message/stream", { message: kindMessage("that one", { taskId: id }) });
    const rest = [(await replied.next()).value.result];
    await worker.complete(id);
    for await (const { result } of replied) rest.push(result);
    expect(rest[0]).toMatchObject({ kind: "task", id });
    expect(rest.at(-1)).toMatchObject({
      kind: "status-update",
      status: { state: "completed" },
      final: true,
    });
    expect(rest.filter(({ final }) => final === true)).toHaveLength(1);
  });

  it("A2A-171 resubscribe to a task that has ended gives the task and a clean end", async () => {
    const id = await start();
    await rpc("tasks/cancel", { id });
    const late = documents(await rpc("tasks/resubscribe", { id }));
    expect(late).toMatchObject([{ id: "r1", result: { kind: "task", id, status: { state: "canceled" } } }]);
    expect((await rpc("tasks/resubscribe", { id: "nope" })).body.error.code).toBe(-32001);
  });
});

describe("HTTP+JSON 0.3", () => {
  const post = (path: string, body: object = {}, headers: Record<string, string> = {}) =>
    http(path, { method: "POST", body: JSON.stringify(body), headers });

  it("A2A-121 sends, reads and cancels in the ProtoJSON of 0.3", async () => {
    const content = [
      { text: "hi", metadata: { a: 1 } },
      { file: { fileWithBytes: "aGk=", name: "hi.txt", mimeType: "text/plain" } },
      { data: { data: { k: 1 } } },
    ];
    const sent = await post("/v1/message:send", {
      message: protoMessage("", { content }),
      configuration: {},
    });
    expect(sent).toMatchObject({ status: 200, type: "application/json" });
    const { id } = sent.body.task;
    expect(sent.body.task).toMatchObject({
      status: { state: "TASK_STATE_SUBMITTED" },
      history: [{ content }],
    });
    expect((await http(`/v1/tasks/${id}`)).body.history[0].content).toEqual(content);
    expect((await http(`/v1/tasks/${id}?historyLength=0`)).body.history).toHaveLength(1);
    const canceled = await http(`/v1/tasks/${id}:cancel`, { method: "POST" });
    expect(canceled.body.status.state).toBe("TASK_STATE_CANCELLED");
  });

  it.each(["GET", "POST"])("A2A-171 %s on :subscribe streams", async (method) => {
    const id = await start();
    const streaming = http(`/v1/tasks/${id}:subscribe`, { method });
    await worker.claim(id);
    await worker.complete(id);
    const events = documents(await streaming);
    expect(events[0]).toHaveProperty("task.id", id);
    const last = events.at(-1);
    const state = last.task?.status.state ?? last.statusUpdate?.status.state;
    expect(state).toBe("TASK_STATE_COMPLETED");
    if (last.statusUpdate !== undefined) expect(last.statusUpdate.final).toBe(true);
  });

  it("A2A-161 takes the objects with kind too", async () => {
    const parts = [
      { kind: "text", text: "hi" },
      { kind: "file", file: { bytes: "aGk=", name: "n", mimeType: "text/plain" } },
      { kind: "data", data: { k: 1 } },
    ];
    const message = { ...kindMessage(""), parts };
    const sent = await post("/v1/message:send", { message, configuration: { blocking: false } });
    expect(sent.body.task.history[0].content).toEqual([
      { text: "hi" },
      { file: { fileWithBytes: "aGk=", name: "n", mimeType: "text/plain" } },
      { data: { data: { k: 1 } } },
    ]);
  });

  it("A2A-172 errors are bare, with the status of 1.0", async () => {
    expect(await http("/v1/tasks/nope")).toMatchObject({
      status: 404,
      body: { code: -32001, message: "task not found" },
    });
    const bad = await post("/v1/message:send", { message: protoMessage("x", { role: "owner" }) });
    expect(bad).toMatchObject({ status: 400, body: { code: -32602 } });
    expect(bad.body.data.fieldViolations[0].field).toBe("message.role");
    const empty = await post("/v1/message:send", { message: protoMessage("x", { content: [] }) });
    expect(empty.body.data.fieldViolations[0].field).toBe("message.content");
  });

  it("has no listing, and no 1.0 under its paths", async () => {
    expect((await http("/v1/tasks")).status).toBe(404);
    expect((await http("/v1/tasks/x", { headers: { "a2a-version": "1.0" } })).status).toBe(404);
    expect((await http("/v1/tasks/x", { headers: { "a2a-version": "9.9" } })).body.code).toBe(-32009);
    expect((await http("/v1/card")).body).toMatchObject({
      protocolVersion: "0.3.0",
      supportsAuthenticatedExtendedCard: true,
    });
  });

  it("A2A-17 the path names the agent", async () => {
    const as = await gateway.vend({ agent: "second" });
    const body = JSON.stringify({ message: protoMessage("x"), configuration: {} });
    const sent = await http("/second/v1/message:send", { method: "POST", body, as });
    expect(sent.status).toBe(200);
    expect((await http(`/second/v1/tasks/${sent.body.task.id}`, { as })).status).toBe(200);
    expect((await http("/second/v1/tasks/x")).status).toBe(403);
    expect((await http("/third/v1/tasks/x")).status).toBe(404);
  });
});

describe.each([
  ["gRPC", createGrpcTransport],
  ["gRPC-Web", createGrpcWebTransport],
] as const)("%s 0.3", (_name, transport) => {
  let client: Client<typeof A2AService>;

  beforeAll(() => {
    client = createClient(
      A2AService,
      transport({
        baseUrl: gateway.url,
        httpVersion: "2",
        interceptors: [
          (next) => (request) => {
            request.header.set("authorization", `Bearer ${credential}`);
            return next(request);
          },
        ],
      }),
    );
  });

  const message = () => ({
    messageId: randomUUID(),
    role: Role.USER,
    content: [
      {
        part: {
          case: "file" as const,
          value: { file: { case: "fileWithUri" as const, value: "https://files.example/x" }, name: "x" },
        },
        metadata: { kept: true },
      },
    ],
  });

  it("A2A-173 sends, reads, cancels; names of files and metadata of parts survive", async () => {
    const { payload } = await client.sendMessage({ request: message(), configuration: { blocking: false } });
    if (payload.case !== "task") throw new Error("no task");
    const name = `tasks/${payload.value.id}`;
    const task = await client.getTask({ name });
    const [part] = task.history[0]?.content ?? [];
    expect(part?.metadata).toEqual({ kept: true });
    expect(part?.part.value).toMatchObject({ name: "x", file: { value: "https://files.example/x" } });
    const canceled = await client.cancelTask({ name });
    expect(canceled.status?.state).toBe(TaskState.CANCELLED);
    const events = [];
    for await (const event of client.taskSubscription({ name })) events.push(event.payload.case);
    expect(events).toEqual(["task"]);
  });

  it("A2A-163 marks the last event", async () => {
    const events = [];
    for await (const { payload } of client.sendStreamingMessage({ request: message() })) {
      events.push(payload);
      if (payload.case === "task") await worker.do(payload.value.id);
    }
    const last = events.at(-1);
    if (last?.case !== "statusUpdate") throw new Error(`the last event is ${last?.case}`);
    expect(last.value.final).toBe(true);
    expect(last.value.status?.state).toBe(TaskState.COMPLETED);
  });

  it("A2A-176 A2A-172 refuses with the status of 1.0", async () => {
    const failure = async (call: Promise<unknown>) =>
      ConnectError.from(await call.catch((error) => error)).rawMessage;
    expect(await failure(client.getTask({ name: "tasks/nope" }))).toBe("task not found");
    expect(await failure(client.getTask({ name: "nope" }))).toBe("name: must be tasks/{id}");
    expect(await failure(client.sendMessage({ request: { ...message(), content: [] } }))).toMatch(
      /^message.content: /,
    );
    const role = Role.AGENT;
    expect(await failure(client.sendMessage({ request: { ...message(), role } }))).toMatch(/^message.role: /);
  });
});

describe("cards", () => {
  const card = async (version?: string, path = "/.well-known/agent-card.json") => {
    const response = await fetch(`${gateway.url}${path}`, {
      headers: version === undefined ? {} : { "a2a-version": version },
    });
    return { response, json: (await response.json()) as Record<string, unknown> };
  };

  it("FR-70 A2A-180 has three shapes, each with its own ETag", async () => {
    const [modern, legacy, hybrid, odd] = await Promise.all([
      card("1.0"),
      card("0.3.0"),
      card(),
      card("99.0"),
    ]);
    expect(Object.keys(modern.json)).not.toContain("protocolVersion");
    expect(Object.keys(modern.json)).not.toContain("url");
    expect(legacy.json).toMatchObject({
      protocolVersion: "0.3.0",
      url: gateway.url,
      preferredTransport: "JSONRPC",
      security: [{ bearer: [] }],
      securitySchemes: { bearer: { type: "http", scheme: "Bearer" } },
      supportsAuthenticatedExtendedCard: true,
    });
    expect(legacy.json).not.toHaveProperty("supportedInterfaces");
    expect(legacy.json).not.toHaveProperty("securitySchemes.bearer.httpAuthSecurityScheme");
    expect(hybrid.json).toMatchObject({
      ...modern.json,
      protocolVersion: "0.3.0",
      securitySchemes: {
        bearer: { type: "http", scheme: "Bearer", httpAuthSecurityScheme: { scheme: "Bearer" } },
      },
    });
    expect(odd.json).toEqual(hybrid.json);
    const tags = [modern, legacy, hybrid].map(({ response }) => response.headers.get("etag"));
    expect(new Set(tags).size).toBe(3);
    for (const { response } of [modern, legacy, hybrid]) {
      expect(response.headers.get("vary")).toMatch(/a2a-version/i);
    }
    const cached = await fetch(`${gateway.url}/.well-known/agent-card.json`, {
      headers: { "a2a-version": "0.3", "if-none-match": tags[1] ?? "" },
    });
    expect(cached.status).toBe(304);
  });

  it("A2A-178 every 0.3 address in a card is one where 0.3 is spoken", async () => {
    const as = await gateway.vend({ agent: "second" });
    const { json } = await card("0.3", "/second/.well-known/agent-card.json");
    const interfaces = json.additionalInterfaces as { url: string; transport: string }[];
    expect(interfaces.map(({ transport }) => transport)).toEqual(["JSONRPC", "GRPC", "HTTP+JSON"]);
    const [jsonRpc, grpc, rest] = interfaces.map(({ url }) => url);
    const headers = { authorization: `Bearer ${as}`, "content-type": "application/json" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { id: "x" } });
    const answer = await fetch(jsonRpc ?? "", { method: "POST", headers, body });
    expect(((await answer.json()) as { error: { code: number } }).error.code).toBe(-32001);
    expect((await fetch(`${rest}/v1/tasks/x`, { headers })).status).toBe(404);
    expect(grpc).toBe(new URL(gateway.url).host);
  });
});
