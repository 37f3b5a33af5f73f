import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EndpointState } from "../../gen/baton/admin/v1/endpoint_pb.js";
import { TodoState, WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import { A2AService, MessageSchema, Role, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { WORK_VERBS } from "../../src/domain/caller.ts";
import { connectRedis } from "../../src/store/connect-redis.ts";
import type { RedisConnection } from "../../src/store/connection.ts";
import { EndpointStore } from "../../src/store/endpoints.ts";
import { TodoStore } from "../../src/store/todos.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { sendEverywhere } from "./bindings.ts";
import { everything } from "./everything.ts";
import { adminOf } from "./people.ts";

let redis: TestRedis;
let direct: RedisConnection;
let gateway: TestGateway;
let replica: TestGateway;
let endpoints: ReturnType<typeof adminOf>["endpoints"];

beforeAll(async () => {
  redis = await startTestRedis();
  direct = await redis.connect();
  const document = {
    redis: { url: redis.server.url },
    leases: { sweepSeconds: 0.2 },
    agents: { default: { queues: ["default", "deploys"], defaultQueue: "default" }, second: {} },
  };
  gateway = await startTestGateway(document);
  replica = await startTestGateway(document);
  endpoints = adminOf(gateway).endpoints;
});
afterAll(async () => {
  await gateway?.stop();
  await replica?.stop();
  await redis?.stop();
});

const withToken = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const a2aOf = (at: TestGateway) => createClient(A2AService, createGrpcTransport({ baseUrl: at.url }));
const worker = () => createClient(WorkerService, createGrpcTransport({ baseUrl: gateway.url }));

async function vend(
  change: { verbs?: string[]; queues?: string[]; expiresInMs?: number; agent?: string } = {},
) {
  const { verbs = ["create_for"], queues = ["default"], expiresInMs, agent = "" } = change;
  const { endpoint, credential } = await endpoints.createEndpoint({
    name: "test",
    agent,
    scope: { queues, verbs, streaming: true },
    ...(expiresInMs === undefined ? {} : { expiresAt: timestampFromMs(Date.now() + expiresInMs) }),
  });
  return { id: endpoint?.id ?? "", credential };
}

async function send(token: string, metadata: Record<string, string> = {}) {
  const parts = [{ content: { case: "text" as const, value: "do it" } }];
  const message = { messageId: randomUUID(), role: Role.USER, parts };
  const configuration = { returnImmediately: true };
  const { payload } = await a2aOf(gateway).sendMessage(
    { message, metadata, configuration },
    withToken(token),
  );
  if (payload.case !== "task") throw new Error("no task");
  return payload.value;
}

async function refusalOf(call: Promise<unknown>) {
  const error = ConnectError.from(
    await call.then(
      () => new Error("went through"),
      (thrown: unknown) => thrown,
    ),
  );
  return { code: error.code, message: error.rawMessage };
}

const todos = async () => Number(await direct.run("", ["ZCARD", "baton:{default}:queue:default:all"]));

describe("the credential", () => {
  it("SB-57 is shown once; the store holds its SHA-256 and twelve characters, and no other answer has it", async () => {
    const { id, credential } = await vend();
    expect(credential).toMatch(/^sbk_[A-Za-z0-9_-]{43}$/);
    await send(credential);
    const dump = await everything(direct);
    expect(dump).toContain(credential.slice(0, 12));
    expect(dump).not.toContain(credential.slice(0, 13));
    const answers = [
      await endpoints.getEndpoint({ id }),
      await endpoints.listEndpoints({}),
      await endpoints.updateEndpoint({ id, name: "renamed" }),
      await endpoints.revokeEndpoint({ id }),
    ];
    expect(inspect(answers, { depth: 10 })).not.toContain(credential.slice(0, 13));
  });

  it("SB-57 no two are alike, and nothing of one tells another", async () => {
    const made = await Promise.all(Array.from({ length: 50 }, () => vend()));
    expect(new Set(made.map(({ credential }) => credential.slice(4, 16))).size).toBe(50);
  });

  it("SB-58 the scope is the record's: what a request says of itself adds nothing", async () => {
    const { id, credential } = await vend({ verbs: ["list_todos"] });
    const extra = { ...withToken(credential).headers, "x-baton-verbs": "create_for", "x-endpoint-id": id };
    const refused = await refusalOf(worker().claim({ queue: "default" }, { headers: extra }));
    expect(refused.code).toBe(Code.PermissionDenied);
    const { endpoint } = await endpoints.updateEndpoint({
      id,
      name: "other",
      defaultLease: { seconds: 90n },
    });
    expect(endpoint?.scope).toMatchObject({ queues: ["default"], verbs: ["list_todos"] });
  });

  it("SB-1 SB-59 none, malformed, unknown, revoked and expired are one answer on every binding, and nothing is made", async () => {
    const revoked = await vend();
    await endpoints.revokeEndpoint({ id: revoked.id });
    const expired = await vend({ expiresInMs: 50 });
    const deleted = await vend();
    await endpoints.revokeEndpoint({ id: deleted.id });
    await endpoints.deleteEndpoint({ id: deleted.id });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const before = await todos();
    const reference = await sendEverywhere(gateway.url, undefined);
    expect(new Set(reference.map(({ status }) => status))).toEqual(new Set([401, "Unauthenticated"]));
    for (const { binding, challenge } of reference.slice(0, 5)) {
      expect([binding, challenge]).toEqual([binding, expect.stringMatching(/^Bearer\b/)]);
    }
    const tokens = ["x", `sbk_${"B".repeat(43)}`, revoked.credential, expired.credential, deleted.credential];
    for (const token of tokens) {
      expect(await sendEverywhere(gateway.url, token)).toEqual(reference);
      expect(await sendEverywhere(replica.url, token)).toEqual(reference);
    }
    expect(await todos()).toBe(before);
  });

  it("SB-59 a look-up that was left behind opens nothing: the record decides", async () => {
    const { id, credential } = await vend();
    const lookup = ((await direct.run("", ["KEYS", "baton:credential:*"])) as unknown[]).map(String);
    const saved = await Promise.all(
      lookup.map(async (key) => [key, String(await direct.run("", ["GET", key]))] as const),
    );
    const own = saved.find(([, endpoint]) => endpoint === id)?.[0] ?? "";
    await endpoints.revokeEndpoint({ id });
    await direct.run("", ["SET", own, id]);
    expect((await refusalOf(send(credential))).code).toBe(Code.Unauthenticated);
    const other = await vend();
    await direct.run("", ["SET", own, other.id]);
    expect((await refusalOf(send(credential))).code).toBe(Code.Unauthenticated);
  });

  it("SB-2 a credential of another agent's path is 403 and makes nothing for either", async () => {
    const { credential } = await vend({ agent: "second" });
    const seen = await sendEverywhere(gateway.url, credential, "/default");
    const http = seen.filter(({ binding }) => binding.startsWith("JSON-RPC") || binding === "HTTP+JSON");
    expect(http.map(({ status }) => status)).toEqual([403, 403, 403]);
    const { tasks } = await a2aOf(gateway).listTasks({}, withToken((await vend()).credential));
    expect(tasks).toEqual([]);
  });

  it("SB-3 a queue or a verb outside the scope is Forbidden and changes nothing", async () => {
    const { credential } = await vend();
    const before = await todos();
    expect((await refusalOf(send(credential, { queue: "deploys" }))).code).toBe(Code.PermissionDenied);
    expect((await refusalOf(send(credential, { queue: "no-such" }))).code).toBe(Code.PermissionDenied);
    const drains = await vend({ verbs: [...WORK_VERBS] });
    expect((await refusalOf(send(drains.credential))).code).toBe(Code.PermissionDenied);
    expect(await todos()).toBe(before);
    expect(await direct.run("", ["EXISTS", "baton:{default}:queue:deploys:all"])).toBe(0);
  });
});

describe("the end of an endpoint", () => {
  /** A pending, a claimed and an interrupted task of a fresh endpoint, each with a stream on the other replica. */
  async function threeTasks(expiresInMs?: number) {
    const owner = await vend(expiresInMs === undefined ? {} : { expiresInMs });
    const drains = withToken(await gateway.vendWorker());
    const [pending, claimed, waiting] = await Promise.all([1, 2, 3].map(() => send(owner.credential)));
    if (pending === undefined || claimed === undefined || waiting === undefined) throw new Error("no tasks");
    for (const { id } of [claimed, waiting]) await worker().claimById({ id }, drains);
    const question = { parts: [{ content: { case: "text" as const, value: "which?" } }] };
    await worker().requireInput({ id: waiting.id, message: question }, drains);
    const streams = [pending, claimed, waiting].map(({ id }) => readAll(owner.credential, id));
    await new Promise((resolve) => setTimeout(resolve, 200));
    return { owner, drains, ids: [pending.id, claimed.id, waiting.id], streams };
  }

  async function readAll(token: string, id: string) {
    const states: TaskState[] = [];
    try {
      for await (const { payload } of a2aOf(replica).subscribeToTask({ id }, withToken(token))) {
        if (payload.case === "task" || payload.case === "statusUpdate") {
          states.push(payload.value.status?.state ?? TaskState.UNSPECIFIED);
        }
      }
      return { states, code: undefined };
    } catch (thrown) {
      return { states, code: ConnectError.from(thrown).code };
    }
  }

  async function expectEnded({ ids, drains, streams }: Awaited<ReturnType<typeof threeTasks>>) {
    const seen = await Promise.all(streams);
    for (const { states, code } of seen) expect([states.at(-1), code]).toEqual([TaskState.FAILED, undefined]);
    for (const id of ids) {
      const { todo } = await worker().getTodo({ id }, drains);
      expect(todo?.state).toBe(TodoState.FAILED);
    }
    const [, claimed = "", waiting = ""] = ids;
    for (const id of [claimed, waiting]) {
      expect((await refusalOf(worker().complete({ id }, drains))).code).toBe(Code.Aborted);
    }
    const reasons = await Promise.all(
      ids.map((id) => direct.run("", ["HGET", `baton:{default}:task:${id}`, "lastfail"]).then(String)),
    );
    expect(reasons).toEqual(Array(3).fill("endpoint_revoked"));
  }

  it("SB-27 SB-59 revoked: open todos of every kind end, their streams bring that and close", async () => {
    const work = await threeTasks();
    const { deadLettered, endpoint } = await endpoints.revokeEndpoint({ id: work.owner.id });
    expect([deadLettered, endpoint?.state]).toEqual([3, EndpointState.REVOKED]);
    await expectEnded(work);
    expect((await refusalOf(send(work.owner.credential))).code).toBe(Code.Unauthenticated);
  });

  it("SB-27 SB-59 expired: the same, by itself, and refused from that instant", async () => {
    const work = await threeTasks(1500);
    await expectEnded(work);
    const { endpoint } = await endpoints.getEndpoint({ id: work.owner.id });
    expect(endpoint?.state).toBe(EndpointState.REVOKED);
    expect(endpoint?.revokedAt).toBeDefined();
  });

  it("SB-27 expired with no stream and no gateway to see it: the next sweep finds it", async () => {
    const { id, credential } = await vend({ expiresInMs: 300 });
    const task = await send(credential);
    const drains = withToken(await gateway.vendWorker());
    await expect
      .poll(async () => (await worker().getTodo({ id: task.id }, drains)).todo?.state, { timeout: 8000 })
      .toBe(TodoState.FAILED);
    expect((await endpoints.getEndpoint({ id })).endpoint?.revokedAt).toBeDefined();
  });

  it.each([
    ["is finished by the sweep", false],
    ["is finished although the record was deleted", true],
  ])("SB-27 a revocation that was cut off after its first step %s", async (_, deleted) => {
    const { id, credential } = await vend();
    const task = await send(credential);
    const other = await connectRedis({ target: { kind: "single", url: redis.server.url } });
    const store = new EndpointStore(other);
    expect(await store.revoke({ id, agent: "default" })).toBe(true);
    if (deleted) await store.delete(id);
    await other.close();
    const drains = withToken(await gateway.vendWorker());
    await expect
      .poll(async () => (await worker().getTodo({ id: task.id }, drains)).todo?.state, { timeout: 8000 })
      .toBe(TodoState.FAILED);
  });

  it("SB-27 work that a replica took after the end, not knowing of it, is ended by a second look", async () => {
    const { id } = await vend();
    await endpoints.revokeEndpoint({ id });
    const late = `td_${randomUUID()}`;
    const parts = [{ content: { case: "text" as const, value: "late" } }];
    await new TodoStore(direct).create("default", {
      id: late,
      owner: id,
      scopes: [`e:${id}`],
      queue: "default",
      contextId: "c",
      title: "late",
      source: "",
      kind: "",
      assignee: "",
      message: create(MessageSchema, { messageId: "m", role: Role.USER, parts }),
      request: new Uint8Array(),
      maxAttempts: 5,
      messageKey: "m",
      bodyHash: "h",
      idempotencyKey: "",
      historyLength: -1,
      rejectWith: undefined,
      actor: "test",
    });
    const drains = withToken(await gateway.vendWorker());
    const state = async () => (await worker().getTodo({ id: late }, drains)).todo?.state;
    expect(await state()).toBe(TodoState.PENDING);
    await expect.poll(state, { timeout: 25_000, interval: 500 }).toBe(TodoState.FAILED);
  });

  it("SB-59 streams close promptly on another replica, those without a task too", async () => {
    const { id, credential } = await vend({ verbs: [...WORK_VERBS] });
    const bell = createClient(WorkerService, createGrpcTransport({ baseUrl: replica.url }))
      .watchQueue({ queue: "default" }, withToken(credential))
      [Symbol.asyncIterator]();
    const next = bell.next().then(async () => bell.next());
    const end = refusalOf(next);
    await expect.poll(() => replica.openStreams).toBe(1);
    const started = Date.now();
    await endpoints.revokeEndpoint({ id });
    expect((await end).code).toBe(Code.Unauthenticated);
    expect(Date.now() - started).toBeLessThan(3000);
    expect(replica.openStreams).toBe(0);
  });

  it("SB-60 an endpoint is deleted only after it was revoked, and then it is unknown", async () => {
    const { id } = await vend();
    expect((await refusalOf(endpoints.deleteEndpoint({ id }))).code).toBe(Code.Aborted);
    await endpoints.revokeEndpoint({ id });
    expect((await refusalOf(endpoints.revokeEndpoint({ id }))).code).toBe(Code.NotFound);
    await endpoints.deleteEndpoint({ id });
    for (const call of [endpoints.getEndpoint, endpoints.revokeEndpoint, endpoints.deleteEndpoint]) {
      expect(await refusalOf(call({ id }))).toEqual(
        await refusalOf(endpoints.getEndpoint({ id: randomUUID() })),
      );
    }
    const listed = (await endpoints.listEndpoints({ includeRevoked: true })).endpoints;
    expect(listed.map((each) => each.id)).not.toContain(id);
  });
});
