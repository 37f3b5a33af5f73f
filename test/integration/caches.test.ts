/** What a replica keeps in memory never shows: a change through another is seen by the very next call. */
import { randomUUID } from "node:crypto";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { A2AService, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";

interface TaskJson {
  readonly id: string;
  readonly status: { readonly state: string };
  readonly history?: readonly { readonly messageId: string }[];
}

let redis: TestRedis;
let one: TestGateway;
let two: TestGateway;

beforeAll(async () => {
  redis = await startTestRedis();
  const document = { redis: { url: redis.server.url } };
  [one, two] = await Promise.all([startTestGateway(document), startTestGateway(document)]);
});

afterAll(async () => {
  await Promise.all([one?.stop(), two?.stop()]);
  await redis?.stop();
});

async function rpc(gateway: TestGateway, token: string, method: string, params: object) {
  const response = await fetch(gateway.url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const answer = (await response.json()) as { result?: unknown; error?: { message: string } };
  return { status: response.status, ...answer };
}

async function send(gateway: TestGateway, token: string, taskId?: string): Promise<TaskJson> {
  const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "work" }] };
  const { result } = await rpc(gateway, token, "SendMessage", {
    message: taskId === undefined ? message : { ...message, taskId },
    configuration: { returnImmediately: true },
  });
  return (result as { task: TaskJson }).task;
}

/** GetTask at a gateway, on the three bindings. */
const reads: Record<string, (gateway: TestGateway, token: string, id: string) => Promise<TaskJson>> = {
  "JSON-RPC": async (gateway, token, id) => {
    const { result } = await rpc(gateway, token, "GetTask", { id });
    return result as TaskJson;
  },
  "HTTP+JSON": async (gateway, token, id) => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${gateway.url}/tasks/${id}`, { headers });
    return (await response.json()) as TaskJson;
  },
  gRPC: async (gateway, token, id) => {
    const client = createClient(A2AService, createGrpcTransport({ baseUrl: gateway.url }));
    const task = await client.getTask({ id }, { headers: { authorization: `Bearer ${token}` } });
    const state = `TASK_STATE_${TaskState[task.status?.state ?? 0]}`;
    return { id: task.id, status: { state }, history: task.history };
  },
};

for (const [binding, read] of Object.entries(reads)) {
  it(`SB-45 GetTask by ${binding} shows what was just changed through another replica`, async () => {
    const token = await one.vend();
    const { id } = await send(one, token);
    for (let count = 1; count <= 20; count += 1) {
      // Twice, so that the second is answered from memory.
      for (const time of ["first", "again"]) {
        expect((await read(two, token, id)).history, `${time}, ${count}`).toHaveLength(count);
      }
      await send(one, token, id);
    }
    await rpc(one, token, "CancelTask", { id });
    expect((await read(two, token, id)).status.state).toBe("TASK_STATE_CANCELED");
  });
}

it("A2A-69 answers of different length are kept apart", async () => {
  const token = await one.vend();
  const { id } = await send(one, token);
  await send(one, token, id);
  for (const historyLength of [1, 2, 0, 1, 2]) {
    const { result } = await rpc(two, token, "GetTask", { id, historyLength });
    expect((result as TaskJson).history ?? []).toHaveLength(historyLength);
  }
});

it("A2A-10 a task that one caller has read is none for another", async () => {
  const [token, other] = [await one.vend(), await one.vend()];
  const { id } = await send(one, token);
  await rpc(two, token, "GetTask", { id });
  const { error } = await rpc(two, other, "GetTask", { id });
  expect(error).toMatchObject({ message: expect.stringContaining("not found") });
});

it("SB-59 a credential that was just revoked through another replica is refused by the next call", async () => {
  for (let round = 0; round < 20; round += 1) {
    const token = await one.vend();
    const { id } = await send(two, token);
    expect((await rpc(two, token, "GetTask", { id })).status).toBe(200);
    await one.revoke(token);
    expect((await rpc(two, token, "GetTask", { id })).status, `round ${round}`).toBe(401);
  }
});
