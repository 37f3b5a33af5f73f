import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Role, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { VERBS, WORK_VERBS } from "../../src/domain/caller.ts";
import { connectRedis } from "../../src/store/connect-redis.ts";
import type { RedisConnection } from "../../src/store/connection.ts";
import { agentPrefix } from "../../src/store/keys.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { type TestClient, testClient } from "../worker/client.ts";
import { connectMcp, type McpPeer, ToolFailure } from "./rig.ts";

let gateway: TestGateway;
let worker: McpPeer;
let submitter: McpPeer;
let client: TestClient;
let redis: RedisConnection;

beforeAll(async () => {
  gateway = await startTestGateway({
    agents: { main: { queues: ["default", "reviews", "deploys"], defaultQueue: "default" } },
    defaultAgent: "main",
    retries: { maxAttempts: 2, baseSeconds: 1, capSeconds: 1 },
  });
  const submit = await gateway.vend({ queues: ["default", "reviews"] });
  client = testClient(gateway.url, submit);
  submitter = await connectMcp(gateway.url, submit);
  worker = await connectMcp(gateway.url, await gateway.vendWorker({ queues: ["default", "reviews"] }));
  redis = await connectRedis({
    target: { kind: "socket", path: join(gateway.dataDir, "redis", "redis.sock") },
  });
});

afterAll(async () => {
  await Promise.all([worker.close(), submitter.close()]);
  client.close();
  await redis.close();
  await gateway.stop();
});

type Row = Record<string, unknown> & { id: string };
interface Claim {
  empty: boolean;
  todo: Row;
  lease_token?: string;
}

const makeTodo = async (args: Record<string, unknown> = {}) =>
  (await submitter.call("create_for", { queue: "default", title: "Do it", ...args })) as {
    todo: Row;
    created: boolean;
  };
const claimNext = async (args: Record<string, unknown> = {}) =>
  (await worker.call("claim_next", { queue: "default", ...args })) as unknown as Claim;

describe("the worker loop, by the protocol's own client", () => {
  it("SB-70 create_for makes a todo in a queue and says whether it did", async () => {
    const first = await makeTodo({ payload: { n: 1 }, idempotency_key: "once", title: "Count to one" });
    expect(first).toMatchObject({
      created: true,
      todo: { queue: "default", state: "pending", title: "Count to one", attempt: 0, max_attempts: 2 },
    });
    const again = await makeTodo({ payload: { n: 1 }, idempotency_key: "once", title: "Count to one" });
    expect(again).toEqual({ created: false, todo: first.todo });
    const task = await client.a2a.getTask({ id: first.todo.id });
    expect(task.status?.state).toBe(TaskState.SUBMITTED);
    const claimed = await claimNext();
    expect(claimed.todo).toMatchObject({ id: first.todo.id, payload: { n: 1 } });
    await worker.call("complete", { id: first.todo.id });
    // The key is free again once the todo has ended (SB-22).
    const third = await makeTodo({ idempotency_key: "once" });
    expect(third.created).toBe(true);
    await worker.call("claim", { id: third.todo.id });
    await worker.call("complete", { id: third.todo.id });
  });

  it("SB-70 create_for is refused for a queue or verb that is not granted, and makes nothing", async () => {
    await expect(makeTodo({ queue: "deploys" })).rejects.toThrow(/^forbidden: /);
    await expect(worker.call("create_for", { queue: "default", title: "x" })).rejects.toThrow(/^forbidden: /);
    const operator = await connectMcp(
      gateway.url,
      await gateway.vendWorker({ queues: ["deploys", "default", "reviews"] }),
    );
    expect(await operator.call("list_todos", { state: "pending" })).toEqual({ todos: [] });
    await operator.close();
  });

  it("claims, keeps, and completes; the result is an artifact of the task", async () => {
    const id = await client.send("Review the plan");
    const claimed = await claimNext({ claimant: "ada", require_fence: true, lease_ttl_seconds: 120 });
    expect(claimed).toMatchObject({
      empty: false,
      attempt_seq: 1,
      attempts_total: 1,
      prior_attempts: [],
      todo: { id, state: "claimed", owner: "ada", attempt: 1, title: "Review the plan" },
    });
    const lease = Date.parse(String(claimed.todo.lease_expires_at));
    expect(Math.abs(lease - Date.now() - 120_000)).toBeLessThan(5000);
    const token = claimed.lease_token;
    expect(token).toMatch(/^[\w-]{22}$/);
    await expect(worker.call("heartbeat", { id })).rejects.toThrow(/^conflict: /);
    const beat = await worker.call("heartbeat", { id, lease_token: token, lease_ttl_seconds: 600 });
    expect(Date.parse(String(beat.lease_expires_at))).toBeGreaterThan(lease);
    await worker.call("update_status", { id, message: "Half way", lease_token: token });
    const artifact = { artifactId: "log", parts: [{ text: "one," }] };
    expect(await worker.call("add_artifact", { id, artifact, lease_token: token })).toMatchObject({
      artifact_id: "log",
    });
    const more = { artifactId: "log", parts: [{ text: "two" }] };
    await worker.call("add_artifact", {
      id,
      artifact: more,
      append: true,
      last_chunk: true,
      lease_token: token,
    });
    const done = await worker.call("complete", {
      id,
      result: { verdict: "fine", points: [1, 2] },
      summary: "read it twice",
      artifact: "https://example.com/report",
      lease_token: token,
    });
    expect(done).toMatchObject({ id, state: "done" });
    const task = await client.a2a.getTask({ id });
    expect(task.status?.state).toBe(TaskState.COMPLETED);
    const byId = Object.fromEntries(task.artifacts.map(({ artifactId, parts }) => [artifactId, parts]));
    expect(byId.log?.map(({ content }) => content.value)).toEqual(["one,", "two"]);
    expect(byId.result?.[0]?.content.case).toBe("data");
    expect(await worker.call("get_todo", { id })).toMatchObject({
      state: "done",
      result: { verdict: "fine", points: [1, 2] },
      dead_letter: false,
      next_retry_at: null,
      attempts_total: 1,
      attempts_pruned: 0,
      attempts: [
        {
          seq: 1,
          claimant: "ada",
          outcome: "completed",
          disposition: "done",
          summary: "read it twice",
          artifact: "https://example.com/report",
        },
      ],
    });
  });

  it("SB-72 claim_next on an empty queue answers empty and is no error", async () => {
    expect(await worker.call("claim_next", { queue: "reviews" })).toEqual({ empty: true });
    expect(await worker.call("claim_next")).toEqual({ empty: true });
  });

  it("claim_next without a queue takes work of any granted queue", async () => {
    const { todo } = await makeTodo({ queue: "reviews" });
    expect(await worker.call("claim_next")).toMatchObject({ empty: false, todo: { id: todo.id } });
    await worker.call("complete", { id: todo.id });
  });

  it("fails until it is a dead letter, and says so", async () => {
    const { todo } = await makeTodo();
    await worker.call("claim", { id: todo.id });
    const failed = await worker.call("fail", { id: todo.id, result: "no disk", summary: "df said 0" });
    expect(failed).toMatchObject({ state: "pending", dead_letter: false, attempt: 1 });
    expect(Date.parse(String(failed.next_retry_at))).toBeGreaterThan(Date.now() - 1000);
    await expect(worker.call("claim", { id: todo.id })).rejects.toThrow(/^conflict: /);
    await sleep(1100);
    const second = (await claimNext()) as unknown as Record<string, unknown>;
    expect(second).toMatchObject({
      attempt_seq: 2,
      prior_attempts: [{ seq: 1, outcome: "failed", disposition: "retry_scheduled", summary: "df said 0" }],
    });
    expect(await worker.call("fail", { id: todo.id, result: { code: 28 } })).toMatchObject({
      state: "failed",
      dead_letter: true,
      next_retry_at: null,
    });
    expect(await worker.call("get_todo", { id: todo.id, attempts_limit: 1 })).toMatchObject({
      dead_letter: true,
      result: { code: 28 },
      attempts_total: 2,
      attempts: [{ seq: 2 }],
    });
  });

  it("releases without spending an attempt, and rejects for good", async () => {
    const { todo } = await makeTodo();
    await worker.call("claim", { id: todo.id });
    expect(await worker.call("release", { id: todo.id, summary: "not mine" })).toMatchObject({
      state: "pending",
    });
    expect(await claimNext()).toMatchObject({ todo: { id: todo.id, attempt: 1 } });
    expect(await worker.call("reject", { id: todo.id, message: "Not in scope" })).toMatchObject({
      state: "rejected",
    });
    const { status } = await client.a2a.getTask({ id: todo.id }).catch(() => ({ status: undefined }));
    expect(status?.state).toBe(TaskState.REJECTED);
  });

  it("SB-74 require_input and require_auth set the A2A state, and a reply gives the todo back", async () => {
    const id = await client.send("Book a table");
    await claimNext();
    const schema = { type: "object", properties: { people: { type: "integer" } } };
    const asked = await worker.call("require_input", { id, message: "For how many?", schema });
    expect(asked).toMatchObject({ id, state: "input-required" });
    const task = await client.a2a.getTask({ id });
    expect(task.status?.state).toBe(TaskState.INPUT_REQUIRED);
    expect(task.status?.message?.parts.map(({ content }) => content.case)).toEqual(["text", "data"]);
    const before = (await worker.call("get_messages", { id })) as { last_seq: number };
    await client.send("Four", id);
    expect(await worker.call("get_messages", { id, after_seq: before.last_seq })).toMatchObject({
      messages: [
        { role: "ROLE_AGENT", parts: [{ text: "For how many?" }, { data: schema }] },
        { role: "ROLE_USER", parts: [{ text: "Four" }] },
      ],
      last_seq: before.last_seq + 2,
    });
    expect(await worker.call("require_auth", { id, message: "Log in at https://example.com" })).toMatchObject(
      {
        state: "auth-required",
      },
    );
    expect((await client.a2a.getTask({ id })).status?.state).toBe(TaskState.AUTH_REQUIRED);
    await client.send("done", id);
    expect(await worker.call("complete", { id, result: "Booked" })).toMatchObject({ state: "done" });
  });

  it("lists rows, newest first, of granted queues only", async () => {
    const { todo } = await makeTodo({ payload: "secret work" });
    const { todos } = (await worker.call("list_todos", { state: "pending", limit: 500 })) as {
      todos: Row[];
    };
    expect(todos[0]?.id).toBe(todo.id);
    expect(Object.keys(todos[0] ?? {}).sort()).toEqual(
      ["attempt", "created_at", "id", "max_attempts", "payload_size", "queue", "state", "title"].sort(),
    );
    await expect(worker.call("list_todos", { queue: "deploys" })).rejects.toThrow(/^forbidden: /);
    await expect(worker.call("get_todo", { id: "td_nobody" })).rejects.toThrow("not_found: todo not found");
    await worker.call("claim", { id: todo.id });
    await worker.call("complete", { id: todo.id });
  });

  it("SB-15 the endpoint's default lease can be read, set and cleared", async () => {
    const own = await connectMcp(gateway.url, await gateway.vendWorker());
    const server = { default_lease_ttl_seconds: null, effective_lease_ttl_seconds: 300 };
    expect(await own.call("get_default_lease")).toMatchObject(server);
    expect(await own.call("set_default_lease", { default_lease_ttl_seconds: 900 })).toEqual({
      default_lease_ttl_seconds: 900,
      effective_lease_ttl_seconds: 900,
      min_lease_ttl_seconds: 60,
      max_lease_ttl_seconds: 86_400,
    });
    const { todo } = await makeTodo();
    const claimed = (await own.call("claim", { id: todo.id })) as Row;
    const lease = Date.parse(String(claimed.lease_expires_at));
    expect(Math.abs(lease - Date.now() - 900_000)).toBeLessThan(10_000);
    await own.call("complete", { id: todo.id });
    await expect(own.call("set_default_lease", { default_lease_ttl_seconds: 59 })).rejects.toThrow(
      /^invalid_argument: default_lease_ttl_seconds: /,
    );
    expect(await own.call("set_default_lease", { default_lease_ttl_seconds: null })).toMatchObject(server);
    await own.close();
  });
});

describe("SB-71 the tool list equals the grant", () => {
  it.each([[["create_for"]], [["claim_next", "complete"]], [[...WORK_VERBS]], [[...VERBS]]] as const)(
    "SB-71 %j",
    async (verbs) => {
      const peer = await connectMcp(gateway.url, await gateway.vend({ verbs }));
      expect((await peer.tools()).sort()).toEqual([...verbs].sort());
      await peer.close();
    },
  );

  it("SB-71 a known tool that is not granted is forbidden, whatever its arguments, and does nothing", async () => {
    const { todo } = await makeTodo();
    const reader = await connectMcp(gateway.url, await gateway.vend({ verbs: ["list_todos"] }));
    for (const name of VERBS.filter((verb) => verb !== "list_todos" && verb !== "get_todo")) {
      const failure = await reader.call(name, { id: todo.id, queue: "default" }).catch((error) => error);
      expect(failure).toBeInstanceOf(ToolFailure);
      expect(failure.message).toBe(`forbidden: the endpoint is not granted ${name}`);
    }
    expect(await reader.call("get_todo", { id: todo.id })).toMatchObject({
      state: "pending",
      attempts_total: 0,
    });
    await expect(reader.client.callTool({ name: "drop_tables" })).rejects.toThrow(/unknown tool/);
    await reader.close();
    await worker.call("claim", { id: todo.id });
    await worker.call("complete", { id: todo.id });
  });
});

describe("SB-5 one way into the store", () => {
  /** Fields of the stored record, but for what is of this one todo: its id, times, and the keys made of its message. */
  async function stored(id: string): Promise<Record<string, string>> {
    const key = `${agentPrefix("main")}task:${id}`;
    const reply = (await redis.run(key, ["HGETALL", key])) as Buffer[];
    const fields: Record<string, string> = {};
    for (let i = 0; i + 1 < reply.length; i += 2) fields[String(reply[i])] = String(reply[i + 1]);
    return fields;
  }
  const OWN = /^(at|created|ctx|msgkey|order|updated|lease|nb|since|vt)$/;
  const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
  const alike = (record: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [name, OWN.test(name) ? "*" : value.replace(UUID, "*")]),
    );

  it("SB-5 a todo of create_for and one of SendMessage are alike field for field, through every transition", async () => {
    const { todo } = await makeTodo({ queue: "reviews", title: "Read this", payload: { page: 7 } });
    const { payload } = await client.a2a.sendMessage({
      message: {
        messageId: randomUUID(),
        role: Role.USER,
        parts: [
          { content: { case: "text", value: "Read this" } },
          {
            content: {
              case: "data",
              value: {
                kind: {
                  case: "structValue",
                  value: { fields: { page: { kind: { case: "numberValue", value: 7 } } } },
                },
              },
            },
          },
        ],
      },
      metadata: { queue: "reviews" },
      configuration: { returnImmediately: true },
    });
    const sent = payload.case === "task" ? payload.value.id : "";
    const compare = async (what: string) => {
      const [byTool, bySend] = await Promise.all([stored(todo.id), stored(sent)]);
      expect(Object.keys(byTool).sort(), what).toEqual(Object.keys(bySend).sort());
      expect(alike(byTool), what).toEqual(alike(bySend));
    };
    await compare("created");
    for (const attempt of [1, 2]) {
      for (const id of [todo.id, sent]) await worker.call("claim", { id });
      await compare(`claim ${attempt}`);
      for (const id of [todo.id, sent]) await worker.call("fail", { id, result: "no" });
      await compare(`fail ${attempt}`);
      await sleep(1100);
    }
    expect(await worker.call("get_todo", { id: todo.id })).toMatchObject({ dead_letter: true });
  });
});
