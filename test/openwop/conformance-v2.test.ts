/**
 * The legs of the OpenWOP suite for major 2, with their inputs and assertions (openwop.md section 3), against a gateway and a
 * host in processes of their own. The gateway is the base URL and passes run routes through, as in way (a) of section 5.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayProcess, type HostProcess, startGatewayProcess, startHostProcess } from "./processes.ts";
import { eventually, type Json, RpcClient } from "./rpc.ts";
import { openwopAgent } from "./setup.ts";

let host: HostProcess;
let gateway: GatewayProcess;
let suite: RpcClient;
let tenantB: RpcClient;
let card: Json;

/** The suite's own driver: a base URL, a key, and the version header of major 2. */
async function driver(
  path: string,
  init: RequestInit & { key?: string } = {},
): Promise<{ status: number; body: Json }> {
  const { key = suite.token, ...rest } = init;
  const response = await fetch(`${gateway.url}${path}`, {
    ...rest,
    headers: {
      "OpenWOP-Version": "2.0",
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...rest.headers,
    },
  });
  return { status: response.status, body: await response.json() };
}
const runOf = (taskId: string) => driver(`/runs/${encodeURIComponent(taskId)}`);
const eventsOf = async (taskId: string): Promise<Json[]> =>
  (await driver(`/runs/${encodeURIComponent(taskId)}/events/poll?timeout=1`)).body.events;
const accept = (taskId: string, message: Json = {}) => suite.decide(taskId, { action: "accept" }, message);

beforeAll(async () => {
  host = await startHostProcess();
  gateway = await startGatewayProcess({
    agents: {
      fronted: openwopAgent(host.url, "conformance-approval", {
        callers: { "tenant-b": { credential: { env: "OPENWOP_TEST_OTHER_KEY" } } },
      }),
      asks: openwopAgent(host.url, "credential"),
    },
    defaultAgent: "fronted",
    openwop: { sampleSeams: true, proxyAgent: "fronted" },
  });
  suite = new RpcClient(gateway.url, await gateway.vend("fronted", { push: true }));
  const discovery = await driver("/.well-known/openwop");
  expect(discovery.body.a2a.profiles).toContain("a2a-1.0");
  expect(discovery.body.fixtures).toContain("conformance-approval");
  const response = await fetch(discovery.body.a2a.agentCardUrl, { headers: { "A2A-Version": "1.0" } });
  card = await response.json();
  const rpc = card.supportedInterfaces.find(
    (item: Json) => item.protocolBinding === "JSONRPC" && item.protocolVersion === "1.0",
  );
  expect(card.skills.map(({ id }: Json) => id)).toEqual(["conformance-approval"]);
  suite = new RpcClient(rpc.url, suite.token);
  tenantB = new RpcClient(rpc.url, await gateway.vend("fronted", { name: "tenant-b" }));
}, 60_000);
afterAll(async () => {
  await gateway?.stop();
  await host?.stop();
});

describe("card and discovery", () => {
  it("OW-1 OW-3 OW-5 the card lists interfaces and the one routed skill, and nothing at its top", () => {
    expect(card.supportedInterfaces.length).toBeGreaterThan(0);
    expect(card.url).toBeUndefined();
    expect(card.protocolVersion).toBeUndefined();
    for (const { protocolBinding } of card.supportedInterfaces) {
      expect(["JSONRPC", "GRPC", "HTTP+JSON"]).toContain(protocolBinding);
    }
    expect(card.securitySchemes.bearer.httpAuthSecurityScheme.scheme).toBe("Bearer");
  });

  it("OW-2 OW-4 OW-8 what discovery says is what the card says", async () => {
    const { a2a } = (await driver("/.well-known/openwop")).body;
    const versions = new Set(card.supportedInterfaces.map(({ protocolVersion }: Json) => protocolVersion));
    expect(new Set(a2a.versions)).toEqual(versions);
    expect(card.supportedInterfaces[0].protocolVersion).toBe(a2a.preferredVersion);
    expect(a2a.streaming).toBe(card.capabilities.streaming);
    expect(a2a.pushNotifications).toBe(card.capabilities.pushNotifications);
    expect(a2a).toMatchObject({ preferredVersion: "1.0", minimumVersion: "1.0", durableTasks: true });
    expect(a2a.versions).toContain(a2a.preferredVersion);
    expect(a2a.supported).toBeUndefined();
    expect(Date.now() - Date.parse(a2a.refreshedAt)).toBeLessThan(90 * 86_400_000);
    for (const profile of a2a.profiles) expect(profile).toMatch(/^a2a-[0-9]+\.[0-9]+$/);
  });

  it("OW-7 a fetch without a version gets the preferred version's card", async () => {
    const plain: Json = await (await fetch(`${gateway.url}/.well-known/agent-card.json`)).json();
    expect(plain).toEqual(card);
  });

  it("OW-6 version 9.9 on GetTask, and 0211.a2a-version-not-supported-shape with 99.0", async () => {
    for (const version of ["9.9", "99.0"]) {
      const { error } = await suite.call(
        "GetTask",
        { id: `acme/${"x".repeat(20)}` },
        { "a2a-version": version },
      );
      expect(error.code).toBe(-32009);
      const info = error.data.find((item: Json) => item["@type"].endsWith("google.rpc.ErrorInfo"));
      expect(info.reason).toBe("VERSION_NOT_SUPPORTED");
      const known = card.supportedInterfaces.map(({ protocolVersion }: Json) => protocolVersion);
      for (const one of info.metadata.supportedVersions.split(",")) expect(known).toContain(one.trim());
    }
  });
});

describe("op-map", () => {
  it("OW-16 OW-11 0208.a2a-state-projection", async () => {
    const first = await suite.start();
    const second = await suite.start();
    for (const { id } of [first, second]) {
      expect((await runOf(id)).body.status).toBe("waiting-approval");
      expect((await suite.task(id)).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    }
    await accept(first.id);
    expect((await suite.until(first.id, "TASK_STATE_COMPLETED")).id).toBe(first.id);
    expect((await runOf(first.id)).body.status).toBe("completed");
    const canceled = await suite.call("CancelTask", { id: second.id });
    expect(["TASK_STATE_WORKING", "TASK_STATE_CANCELED"]).toContain(canceled.result.status.state);
    await suite.until(second.id, "TASK_STATE_CANCELED");
    expect((await runOf(second.id)).body.status).toBe("cancelled");
  });

  it("OW-18 OW-21 0208.a2a-context-inferred", async () => {
    const task = await suite.start();
    expect(task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const { result } = await accept(task.id);
    expect(result.task.contextId).toBe(task.contextId);
  });

  it("OW-22 0208.a2a-context-mismatch-refused", async () => {
    const task = await suite.start();
    const before = (await eventsOf(task.id)).length;
    const { error } = await accept(task.id, { contextId: "ctx-of-somebody" });
    expect(error.code).toBe(-32602);
    expect((await runOf(task.id)).body.status).toBe("waiting-approval");
    expect(await eventsOf(task.id)).toHaveLength(before);
  });

  it("OW-23 0208.a2a-terminal-unsupported", async () => {
    const task = await suite.start();
    await accept(task.id);
    await suite.until(task.id, "TASK_STATE_COMPLETED");
    const before = (await eventsOf(task.id)).length;
    const { error } = await accept(task.id);
    expect(error.code).toBe(-32004);
    expect(await eventsOf(task.id)).toHaveLength(before);
  });

  it("OW-24 OW-31 0208.a2a-error-codes", async () => {
    const task = await suite.start();
    await accept(task.id);
    await suite.until(task.id, "TASK_STATE_COMPLETED");
    expect((await suite.call("CancelTask", { id: task.id })).error.code).toBe(-32002);
    expect((await suite.call("GetTask", { id: `acme/${"n".repeat(24)}` })).error.code).toBe(-32001);
    expect((await suite.call("NoSuchMethod", {})).error.code).toBe(-32601);
    expect((await suite.call("SendMessage", {})).error.code).toBe(-32602);
  });

  it("OW-25 OW-58 0208.a2a-list-scoped", async () => {
    const task = await suite.start("x", { message: { contextId: `ctx-${randomUUID()}` } });
    const { contextId } = task;
    const own = await suite.call("ListTasks", { contextId });
    expect(own.result.tasks.map(({ id }: Json) => id)).toEqual([task.id]);
    expect(own.result).toMatchObject({ nextPageToken: "", pageSize: 50 });
    expect((await tenantB.call("ListTasks", { contextId })).result.tasks).toEqual([]);
    const named = await tenantB.call("ListTasks", { contextId, tenant: "acme" });
    expect(named.result?.tasks ?? []).toEqual([]);
    expect((await tenantB.call("GetTask", { id: task.id })).error.code).toBe(-32001);
  });

  it("OW-26 OW-32 0208.a2a-unreadable-not-found and 0211.a2a-unreadable-not-found-details", async () => {
    const ids = [`acme/${"r".repeat(22)}`, `zz-conformance-foreign/${"o".repeat(22)}`];
    const answers = await Promise.all(ids.map((id) => suite.call("GetTask", { id })));
    const normal = answers.map(({ status, error }, index) => ({
      status,
      code: error.code,
      message: error.message,
      details: JSON.parse(
        JSON.stringify(error.data).replaceAll(JSON.stringify(ids[index]).slice(1, -1), "ID"),
      ),
    }));
    expect(normal[0]).toEqual(normal[1]);
    expect(normal[0]?.code).toBe(-32001);
    expect(normal[0]?.details.some((item: Json) => item["@type"].endsWith("google.rpc.ErrorInfo"))).toBe(
      true,
    );
  });

  it("OW-32 0211.a2a-error-data-shape", async () => {
    const task = await suite.start();
    await accept(task.id);
    await suite.until(task.id, "TASK_STATE_COMPLETED");
    const errors = [
      [(await suite.call("GetTask", { id: `acme/${"q".repeat(22)}` })).error, "TASK_NOT_FOUND"],
      [(await suite.call("CancelTask", { id: task.id })).error, "TASK_NOT_CANCELABLE"],
    ];
    for (const [error, reason] of errors) {
      expect(Array.isArray(error.data)).toBe(true);
      for (const item of error.data) expect(typeof item["@type"]).toBe("string");
      const infos = error.data.filter(
        (item: Json) => item["@type"] === "type.googleapis.com/google.rpc.ErrorInfo",
      );
      expect(infos).toHaveLength(1);
      expect(infos[0]).toMatchObject({ reason, domain: "a2a-protocol.org" });
      for (const value of Object.values(infos[0].metadata ?? {})) expect(typeof value).toBe("string");
    }
  });

  it("OW-33 0211.a2a-httpjson-status, with an id that holds a slash", async () => {
    const rest = card.supportedInterfaces.find(
      ({ protocolBinding }: Json) => protocolBinding === "HTTP+JSON",
    );
    const headers = {
      accept: "application/a2a+json, application/json",
      authorization: `Bearer ${suite.token}`,
      "A2A-Version": "1.0",
    };
    const missing = await fetch(`${rest.url}/tasks/${encodeURIComponent(`acme/${"m".repeat(22)}`)}`, {
      headers,
    });
    expect(missing.status).toBe(404);
    const { error }: Json = await missing.json();
    expect(error).toMatchObject({ code: 404, status: "NOT_FOUND" });
    expect(error.details.some((item: Json) => item.reason === "TASK_NOT_FOUND")).toBe(true);
    const task = await suite.start();
    const found = await fetch(`${rest.url}/tasks/${encodeURIComponent(task.id)}`, { headers });
    expect(found.status).toBe(200);
    expect(((await found.json()) as Json).id).toBe(task.id);
  });

  it("OW-34 OW-35 0211.a2a-no-openwop-envelope", async () => {
    const answers = [
      await suite.post('{"jsonrpc":"2.0","id":1,"method":"GetTask","par'),
      await new RpcClient(suite.url, "").call("GetTask", { id: "x" }),
      await suite.call("UnknownMethod", {}),
    ];
    for (const { body } of answers) {
      const isEnvelope =
        body !== undefined &&
        typeof body.error === "string" &&
        typeof body.message === "string" &&
        !("jsonrpc" in body);
      expect(isEnvelope).toBe(false);
    }
    expect(answers[0]?.body.jsonrpc).toBe("2.0");
    expect(answers[2]?.body.jsonrpc).toBe("2.0");
  });

  it("OW-14 0199.a2a-auth-required", async () => {
    const asks = new RpcClient(`${gateway.url}/asks`, await gateway.vend("asks"));
    const task = await asks.start();
    expect(task.status.state).toBe("TASK_STATE_AUTH_REQUIRED");
    expect(task.metadata.openwop.interrupt.kind).toBe("credential");
  });

  it("OW-27 OW-30 streaming is advertised and served; the extended card exactly if it is advertised", async () => {
    expect(card.capabilities.streaming).toBe(true);
    const task = await suite.start();
    const stream = suite.stream("SubscribeToTask", { id: task.id });
    await eventually(() => stream.items.length > 0, "the stream is open");
    await accept(task.id);
    await stream.ended;
    expect(stream.items[0].result.task.id).toBe(task.id);
    expect(stream.items.at(-1).result.statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
    const extended = await suite.call("GetExtendedAgentCard", {});
    expect(extended.result !== undefined).toBe(card.capabilities.extendedAgentCard ?? false);
    if (extended.result === undefined) expect([-32004, -32007]).toContain(extended.error.code);
  });
});

describe("op-map without streaming", () => {
  it("OW-27 OW-28 row-requires-refused: to an endpoint that is offered no streams, both stream methods are refused", async () => {
    const client = new RpcClient(suite.url, await gateway.vend("fronted", { streaming: false }));
    const task = await client.start();
    const before = (await host.control("state")).created;
    expect((await client.call("SubscribeToTask", { id: task.id })).error.code).toBe(-32004);
    const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "x" }] };
    expect((await client.call("SendStreamingMessage", { message })).error.code).toBe(-32004);
    expect((await host.control("state")).created).toBe(before);
  });
});

describe("pass-through", () => {
  it("OW-53 0214.a2a-push-fork-no-push: a replay fork made through us is marked, and takes no push config", async () => {
    const task = await suite.start();
    await accept(task.id);
    await suite.until(task.id, "TASK_STATE_COMPLETED");
    const fork = await driver(`/runs/${encodeURIComponent(task.id)}:fork`, {
      method: "POST",
      body: JSON.stringify({ mode: "replay" }),
    });
    expect(fork.status).toBe(201);
    expect((await runOf(fork.body.runId)).status).toBe(200);
    const { metadata } = await suite.task(fork.body.runId);
    expect(metadata.openwop.fork).toEqual({ mode: "replay", sourceTaskId: task.id });
    const configs = await suite.call("ListTaskPushNotificationConfigs", { taskId: fork.body.runId });
    expect(configs.result.configs ?? []).toEqual([]);
  });

  it("OW-26 a run whose task belongs to somebody else is not there, and a foreign tenant's is not either", async () => {
    const task = await suite.start();
    const other = await gateway.vend("fronted");
    const hidden = await driver(`/runs/${encodeURIComponent(task.id)}`, { key: other });
    expect(hidden).toMatchObject({ status: 404, body: { error: "not_found" } });
    expect((await driver(`/runs/${encodeURIComponent(task.id)}`, { key: tenantB.token })).status).toBe(404);
    expect((await driver("/runs", { key: "wrong" })).status).toBe(401);
  });

  it("OW-59 the host sees its own credentials only", async () => {
    const recorded: Json[] = await host.control("requests");
    const text = JSON.stringify(recorded);
    for (const token of [suite.token, tenantB.token]) expect(text).not.toContain(token);
    const used = new Set(recorded.map(({ headers }) => headers.authorization));
    for (const one of used)
      expect(["Bearer host-key-acme", "Bearer host-key-other", undefined]).toContain(one);
  });
});

describe("seams", () => {
  it("OW-12 OW-13 the durable leg, under the paths of both majors", async () => {
    for (const prefix of ["/conformance/seams/sample", "/v1/host/sample"]) {
      const started = await driver(`${prefix}/a2a/tasks/start`, {
        method: "POST",
        body: JSON.stringify({ scenario: "paused-at-approval" }),
      });
      expect(started.status).toBe(201);
      const { taskId } = started.body;
      const read = await driver(`${prefix}/a2a/tasks/${encodeURIComponent(taskId)}`);
      expect(read.status).toBe(200);
      expect(read.body).toMatchObject({
        taskId,
        runId: taskId,
        state: "input-required",
        interruptKind: "approval",
      });
    }
  });

  it("OW-37 OW-38 the push-config seam refuses by scheme and by address, before it looks for the task", async () => {
    for (const url of ["http://push.example.com/push", "https://10.0.0.5/push"]) {
      const { status, body } = await driver("/v1/host/sample/a2a/tasks/push-config", {
        method: "POST",
        body: JSON.stringify({ taskId: "run_x", url }),
      });
      expect(status).toBe(400);
      expect(body.error).toBe("a2a_push_egress_denied");
    }
  });
});
