import { createHash, randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type OpenWopHost, startOpenWopHost } from "../../examples/openwop-host/host.ts";
import { EndpointService } from "../../gen/baton/admin/v1/endpoint_pb.js";
import { MessageSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { NEW_RUN } from "../../src/domain/openwop/run-fold.ts";
import type { ProjectedStatus } from "../../src/domain/openwop/run-projection.ts";
import type { RedisConnection } from "../../src/store/connection.ts";
import { RunStore } from "../../src/store/runs.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { eventually, type Json, RpcClient, sleep } from "./rpc.ts";
import { openwopAgent } from "./setup.ts";

let redis: TestRedis;
let connection: RedisConnection;
let host: OpenWopHost;
const gateways: TestGateway[] = [];

beforeAll(async () => {
  redis = await startTestRedis();
  connection = await redis.connect();
  host = await startOpenWopHost();
});
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.stop();
  host.faults.clear();
});
afterAll(async () => {
  await host.stop();
  await redis.stop();
});

async function replica(workflow: string, backend: Json = {}, extra: Json = {}): Promise<TestGateway> {
  const gateway = await startTestGateway({
    ...extra,
    agents: { [workflow]: openwopAgent(host.url, workflow, backend) },
    defaultAgent: workflow,
    redis: { url: redis.server.url },
  });
  gateways.push(gateway);
  return gateway;
}
async function stopOne(gateway: TestGateway): Promise<void> {
  gateways.splice(gateways.indexOf(gateway), 1);
  await gateway.stop();
}
const at = (gateway: TestGateway, token: string) => new RpcClient(gateway.url, token);

describe("followers", () => {
  it("a process without the role starts runs and leaves them to one that has it, at once", async () => {
    const gateway = await replica("conformance-approval", {}, { roles: ["gateway"] });
    const client = at(gateway, await gateway.vend({}));
    await client.start();
    // GetTask would ask the host itself.
    const state = async () => (await client.call("ListTasks", {})).result.tasks[0].status.state;
    await sleep(1000);
    expect(await state(), "nobody follows it").not.toBe("TASK_STATE_INPUT_REQUIRED");
    const follower = await replica("conformance-approval", {}, { roles: ["followers"] });
    expect(follower.port).toBe(0);
    await eventually(async () => (await state()) === "TASK_STATE_INPUT_REQUIRED", "it is followed", 5000);
  });

  it("OW-10 a task goes on after a restart of the gateway, and what happened meanwhile is there", async () => {
    const first = await replica("conformance-approval");
    const token = await first.vend({});
    const task = await at(first, token).start();
    await stopOne(first);
    const run = host.state.engine.runs.get(task.id);
    if (run === undefined) throw new Error("no run");
    host.state.engine.resolve(run, "review", { action: "accept" }, { tenant: "acme", subject: "ada" });
    await eventually(() => run.status === "completed", "the run has ended without us");
    const second = await replica("conformance-approval");
    const done = await at(second, token).until(task.id, "TASK_STATE_COMPLETED");
    expect(done.artifacts.map(({ artifactId }: Json) => artifactId)).toEqual([
      "output-result",
      "output-rounds",
    ]);
  });

  it("OW-29 a reply works after a restart, through another replica, and a stream there sees the end", async () => {
    const first = await replica("conformance-approval");
    const token = await first.vend({});
    const task = await at(first, token).start();
    const second = await replica("conformance-approval");
    const stream = at(second, token).stream("SubscribeToTask", { id: task.id });
    await eventually(() => stream.items.length > 0, "open");
    await stopOne(first);
    const { result } = await at(second, token).decide(task.id, { action: "accept" });
    expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
    await stream.ended;
    expect(stream.items.at(-1).result.statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("OW-10 of two replicas exactly one follows a run, and the other takes over when it stops", async () => {
    const first = await replica("slow");
    const second = await replica("slow");
    const token = await first.vend({});
    const client = at(first, token);
    const task = await client.start("x", { configuration: { returnImmediately: true } });
    await eventually(() => host.streams.size > 0, "followed");
    for (let i = 0; i < 20; i++) {
      expect(host.streams.size).toBeLessThanOrEqual(1);
      await sleep(100);
    }
    await stopOne(first);
    await eventually(() => host.streams.size === 1, "followed by the other");
    const run = host.state.engine.runs.get(task.id);
    if (run !== undefined) host.state.engine.advance(run);
    await at(second, token).until(task.id, "TASK_STATE_COMPLETED");
  });

  it("OW-12 without a stream to be had, a run is polled; the process holds no more streams than it may", async () => {
    const gateway = await replica("timed", { followers: { streams: 2 } });
    const client = at(gateway, await gateway.vend({}));
    const tasks = await Promise.all(
      Array.from({ length: 30 }, () => client.start("800", { configuration: { returnImmediately: true } })),
    );
    expect(host.streams.size).toBeLessThanOrEqual(2);
    for (const { id } of tasks) await client.until(id, "TASK_STATE_COMPLETED", 20_000);
  });

  it("OW-12 a host without streams or a host that cuts them is followed all the same", async () => {
    host.faults.add({ route: "events", kind: "status", status: 404, times: 1000 });
    const gateway = await replica("journey");
    const client = at(gateway, await gateway.vend({}));
    const task = await client.start();
    const asked = await client.until(task.id, "TASK_STATE_INPUT_REQUIRED");
    expect(asked.artifacts[0].artifactId).toBe("plan");
    await client.decide(task.id, { action: "accept" });
    await client.until(task.id, "TASK_STATE_INPUT_REQUIRED");
    const { result } = await client.send("Ada", { message: { taskId: task.id } });
    expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("OW-20 an intent that nobody finished is finished by whoever finds it", async () => {
    host.faults.add({ route: "create", kind: "lost", times: 1000 });
    const gateway = await replica("conformance-approval", { budgetSeconds: 0.3 });
    const client = at(gateway, await gateway.vend({}));
    const before = host.state.engine.created;
    const refused = await client.send("x");
    expect(refused.error.data[0].reason).toBe("UNAVAILABLE");
    host.faults.clear();
    let tasks: Json[] = [];
    await eventually(async () => {
      tasks = (await client.call("ListTasks", {})).result.tasks;
      return tasks.length === 1;
    }, "the task appears by itself");
    expect(host.state.engine.created).toBe(before + 1);
    await client.until(tasks[0].id, "TASK_STATE_INPUT_REQUIRED");
  });

  it("OW-20 a message that we forgot sooner than the host did finds its task again", async () => {
    const gateway = await replica("conformance-approval");
    const client = at(gateway, await gateway.vend({}));
    const message = { messageId: randomUUID() };
    const first = await client.start("late", { message });
    const key = createHash("sha256").update(message.messageId).digest("base64url").slice(0, 32);
    const found = (await connection.run("k", ["KEYS", `*:msg:*${key}`])) as Buffer[];
    expect(found).toHaveLength(1);
    await connection.run("k", ["DEL", ...found]);
    const again = await client.start("late", { message });
    expect(again.id).toBe(first.id);
    expect(again.contextId).toBe(first.contextId);
    expect(again.history.filter(({ role }: Json) => role === "ROLE_USER")).toHaveLength(1);
  });

  it("OW-20 a create that the host surely did not make leaves nothing behind", async () => {
    host.faults.add({ route: "create", kind: "status", status: 422, times: 1 });
    const gateway = await replica("conformance-approval");
    const client = at(gateway, await gateway.vend({}));
    const message = { messageId: randomUUID() };
    expect((await client.send("x", { message })).error.code).toBe(-32602);
    await sleep(300);
    expect((await client.call("ListTasks", {})).result.tasks).toEqual([]);
    expect((await client.send("y", { message })).result.task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  });
});

describe("endpoints", () => {
  it("the end of an endpoint leaves its runs to their host, and ends itself", async () => {
    const gateway = await replica("conformance-approval");
    const token = await gateway.vend({ name: "leaver" });
    const task = await at(gateway, token).start();
    const admin = createClient(
      EndpointService,
      createGrpcTransport({
        baseUrl: gateway.adminUrl,
        interceptors: [
          (next) => (request) => {
            request.header.set("authorization", `Bearer ${gateway.adminToken}`);
            return next(request);
          },
        ],
      }),
    );
    const { endpoints } = await admin.listEndpoints({});
    const leaver = endpoints.find(({ name }) => name === "leaver");
    const answer = await admin.revokeEndpoint({ id: leaver?.id ?? "" }, { timeoutMs: 5000 });
    expect(answer.deadLettered).toBe(0);
    expect(host.state.engine.runs.get(task.id)?.status).toBe("waiting-approval");
    expect((await at(gateway, token).call("GetTask", { id: task.id })).status).toBe(401);
  });
});

describe("the store's part", () => {
  const projected = (state: TaskState): ProjectedStatus => ({
    state,
    message: undefined,
    metadata: {},
    interruptKind: undefined,
  });
  async function made(agent: string): Promise<RunStore> {
    const store = new RunStore(connection);
    const intent = {
      messageKey: "m",
      bodyHash: "h",
      owner: "o",
      scopes: ["e:o"],
      queue: "q",
      contextId: "c",
      title: "t",
      message: create(MessageSchema),
      credential: "service",
      body: "{}",
      idempotencyKey: "i",
      trace: {},
      purposes: undefined,
      actor: "a",
      historyLength: 0,
      push: undefined,
    };
    expect((await store.intend(agent, intent, 1000)).kind).toBe("new");
    const result = await store.created(agent, {
      storedKey: store.storedKey(agent, "o", "m"),
      runId: "acme/r",
      status: "pending",
      projected: projected(TaskState.SUBMITTED),
      holder: "p1",
      ttlMs: 50,
      historyLength: 0,
    });
    expect(result.kind).toBe("created");
    return store;
  }
  const running = { ...NEW_RUN, status: "running" };

  it("OW-12 of two that saw the same, one applies; the other is told, and nothing happens twice", async () => {
    const store = await made("fence-1");
    const record = await store.read("fence-1", "acme/r");
    if (record === undefined) throw new Error("no record");
    const change = {
      fence: undefined,
      cursor: 0,
      view: running,
      changes: [{ kind: "status", status: projected(TaskState.WORKING), at: undefined }] as const,
      actor: "x",
    };
    const results = await Promise.all([1, 2, 3].map(() => store.apply("fence-1", record, change)));
    expect([...results].sort()).toEqual(["moved", "moved", "ok"]);
  });

  it("OW-10 a follower whose lease ran out is refused by its number", async () => {
    const store = await made("fence-2");
    await sleep(80);
    const { runs } = await store.take("fence-2", "p2", 10_000, 10);
    expect(runs.map(({ id }) => id)).toEqual(["acme/r"]);
    const record = runs[0];
    if (record === undefined) throw new Error("no record");
    const change = { cursor: 0, view: running, changes: [], actor: "x" };
    expect(await store.apply("fence-2", record, { ...change, fence: "1" })).toBe("fenced");
    expect(await store.renew("fence-2", "p1", 1000, new Map([["acme/r", "1"]]))).toEqual(["acme/r"]);
    expect(await store.apply("fence-2", record, { ...change, fence: record.fence })).toBe("ok");
    expect((await store.take("fence-2", "p3", 1000, 10)).runs).toEqual([]);
  });

  it("OW-16 an ended task takes nothing more", async () => {
    const store = await made("fence-3");
    const record = await store.read("fence-3", "acme/r");
    if (record === undefined) throw new Error("no record");
    const end = {
      fence: undefined,
      cursor: 1,
      view: { ...NEW_RUN, status: "completed" },
      changes: [{ kind: "status", status: projected(TaskState.COMPLETED), at: 5 }] as const,
      actor: "x",
    };
    expect(await store.apply("fence-3", record, end)).toBe("ok");
    expect(await store.apply("fence-3", { ...record, version: 1 }, end)).toBe("terminal");
    await sleep(80);
    expect((await store.take("fence-3", "p2", 1000, 10)).runs).toEqual([]);
  });
});
