/** The legs of the OpenWOP suite for major 1 (openwop.md section 3), against a gateway and a host in processes of their own. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayProcess, type HostProcess, startGatewayProcess, startHostProcess } from "./processes.ts";
import { type Json, RpcClient, sleep } from "./rpc.ts";
import { openwopAgent } from "./setup.ts";

let host: HostProcess;
let gateway: GatewayProcess;
let suite: RpcClient;

async function driver(path: string, init: RequestInit = {}): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${gateway.url}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${suite.token}`, "content-type": "application/json", ...init.headers },
  });
  return { status: response.status, body: await response.json() };
}

beforeAll(async () => {
  host = await startHostProcess();
  gateway = await startGatewayProcess({
    agents: { fronted: openwopAgent(host.url, "conformance-approval", { major: 1 }) },
    defaultAgent: "fronted",
    openwop: { sampleSeams: true, proxyAgent: "fronted" },
  });
  suite = new RpcClient(gateway.url, await gateway.vend("fronted"));
}, 60_000);
afterAll(async () => {
  await gateway?.stop();
  await host?.stop();
});

describe("a2a-card-runtime-consistency", () => {
  it("OW-1 OW-2 OW-3 OW-4 OW-8 discovery and card agree", async () => {
    const { a2a } = (await driver("/.well-known/openwop")).body;
    expect(a2a.supported).toBe(true);
    const response = await fetch(a2a.agentCardUrl, { headers: { "A2A-Version": "1.0" } });
    const card: Json = await response.json();
    expect(card.supportedInterfaces.length).toBeGreaterThan(0);
    expect(card.skills.length).toBeGreaterThan(0);
    expect(card.url).toBeUndefined();
    expect(card.protocolVersion).toBeUndefined();
    const versions = card.supportedInterfaces.map(({ protocolVersion }: Json) => protocolVersion);
    expect(new Set(a2a.protocolVersions)).toEqual(new Set(versions));
    expect(a2a.protocolVersions[0]).toBe(a2a.preferredVersion);
    expect(new Set(a2a.protocolVersions).size).toBe(a2a.protocolVersions.length);
    for (const version of a2a.protocolVersions) expect(version).toMatch(/^\d+\.\d+$/);
    if (a2a.profiles.includes("a2a-1.0")) {
      expect(
        card.supportedInterfaces.some(
          (item: Json) => item.protocolBinding === "JSONRPC" && item.protocolVersion === "1.0",
        ),
      ).toBe(true);
    }
    if (a2a.profiles.includes("a2a-0.3-legacy")) expect(a2a.protocolVersions).toContain("0.3");
    expect(a2a.streaming).toBe(card.capabilities.streaming);
    expect(a2a.pushNotifications).toBe(card.capabilities.pushNotifications);
  });

  it("OW-7 while 0.3 is advertised, a fetch without a version is readable as 0.3", async () => {
    const plain: Json = await (await fetch(`${gateway.url}/.well-known/agent-card.json`)).json();
    expect(plain.protocolVersion).toMatch(/^0\.3/);
    expect(typeof plain.url).toBe("string");
    expect(plain.skills[0].id).toBe("conformance-approval");
    expect(await (await fetch(`${gateway.url}/v1/a2a/agent.json`)).json()).toEqual(plain);
  });
});

describe("a2a-1-0-task-roundtrip", () => {
  it("OW-17 OW-19 OW-26 a task and its run", async () => {
    const { result, body } = await suite.send("hello", { configuration: { returnImmediately: true } });
    expect(JSON.stringify(body)).not.toContain('"kind"');
    const { id } = result.task;
    expect((await driver(`/v1/runs/${encodeURIComponent(id)}`)).status).toBe(200);
    expect((await suite.task(id)).id).toBe(id);
    expect((await suite.call("GetTask", { id: `run_${"u".repeat(20)}` })).error.code).toBe(-32001);
  });
});

describe("a2a-task-roundtrip", () => {
  it("OW-11 OW-12 OW-13 the durable leg", async () => {
    const { body } = await driver("/v1/host/sample/a2a/tasks/start", {
      method: "POST",
      body: JSON.stringify({ scenario: "paused-at-approval" }),
    });
    const read = await driver(`/v1/host/sample/a2a/tasks/${body.taskId}`);
    expect(read.body.state).toBe("input-required");
    expect(read.body.runId).toBe(body.taskId);
  });

  it("OW-13 the read seam answers the record and nothing else, to whoever may read the run", async () => {
    const task = await suite.start();
    const path = `/v1/a2a/tasks/${encodeURIComponent(task.id)}`;
    const { status, body } = await driver(path);
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual([
      "contextId",
      "interruptKind",
      "runId",
      "state",
      "taskId",
      "updatedAt",
    ]);
    expect((await driver(`/v1/a2a/tasks/run_${"u".repeat(20)}`)).status).toBe(404);
    const anonymous = await fetch(`${gateway.url}${path}`);
    expect(anonymous.status).toBe(401);
    const stranger = await gateway.vend("fronted");
    expect((await driver(path, { headers: { authorization: `Bearer ${stranger}` } })).status).toBe(404);
  });

  it("OW-37 OW-38 the scheme and address legs of push-config", async () => {
    for (const url of ["http://push.example.com/push", "https://10.0.0.5/push"]) {
      const { status } = await driver("/v1/host/sample/a2a/tasks/push-config", {
        method: "POST",
        body: JSON.stringify({ taskId: "run_x", url }),
      });
      expect(status).toBeGreaterThanOrEqual(400);
      expect([403, 404]).not.toContain(status);
    }
  });

  it("OW-17 as a real 0.3 peer: message/send answers a task", async () => {
    const legacy = new RpcClient(gateway.url, suite.token, "");
    const { result } = await legacy.call("message/send", {
      message: {
        kind: "message",
        messageId: randomUUID(),
        role: "user",
        parts: [{ kind: "text", text: "hi" }],
      },
    });
    expect(result.kind).toBe("task");
    expect(result.status.state).toBe("input-required");
    const { result: got } = await legacy.call("tasks/get", { id: result.id });
    expect(got.status.state).toBe("input-required");
    expect(got.metadata.openwop.interrupt.kind).toBe("approval");
  });

  it("OW-27 RFC 0100: tasks/resubscribe gives the task first, then forward only, and runs nothing again", async () => {
    const task = await suite.start();
    const before = (await host.control("state")).created;
    const legacy = new RpcClient(gateway.url, suite.token, "0.3");
    const stream = legacy.stream("tasks/resubscribe", { id: task.id });
    await sleep(300);
    await suite.decide(task.id, { action: "accept" });
    await stream.ended;
    expect(stream.items[0].result).toMatchObject({ kind: "task", id: task.id });
    expect(stream.items.at(-1).result).toMatchObject({ kind: "status-update", final: true });
    expect((await host.control("state")).created).toBe(before);
  });
});
