/** A client of 0.3, over each binding that 0.3 has, from the registration to what its receiver gets. */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Driver } from "../scenarios/driver.ts";
import { grpcDriverV03 } from "../scenarios/drivers/v03-grpc.ts";
import { jsonRpcDriverV03 } from "../scenarios/drivers/v03-jsonrpc.ts";
import { restDriverV03 } from "../scenarios/drivers/v03-rest.ts";
import { type PushGateway, startPushGateway } from "./gateway.ts";
import { type PushHit, type PushReceiver, respond, startPushReceiver } from "./receiver.ts";

/** Checks what a receiver of 0.3 relies on in every push, and brings the body. */
function taskOf(hit: PushHit, taskId: string, seq: number): JsonObject {
  const { headers, body } = hit;
  expect(headers["content-type"]).toBe("application/json");
  expect(headers["a2a-version"]).toBe("0.3");
  expect(headers["x-a2a-notification-token"]).toBe("t0ken");
  expect(headers["a2a-notification-id"]).toBe(`${taskId}/${seq}`);
  expect(headers["a2a-event-sequence"]).toBe(String(seq));
  const task = JSON.parse(body);
  expect(task).toMatchObject({ kind: "task", id: taskId });
  return task;
}

const stateOf = (task: JsonObject) => (task.status as JsonObject).state;

describe.each([jsonRpcDriverV03, restDriverV03, grpcDriverV03])("push to a client of $name", (kind) => {
  let gateway: PushGateway;
  let driver: Driver;
  let token: string;
  let worker: string;
  let hook: PushReceiver;

  beforeAll(async () => {
    gateway = await startPushGateway();
    const { url } = gateway;
    driver = await kind.connect({ url, authority: new URL(url).host });
    token = await gateway.vend({ push: true });
    worker = await gateway.vendWorker();
  });
  afterAll(async () => {
    await driver.close();
    await gateway.stop();
  });

  async function start(config?: JsonObject): Promise<string> {
    const { message } = await driver.unary(
      "SendMessage",
      {
        message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "please" }] },
        configuration: {
          returnImmediately: true,
          ...(config === undefined ? {} : { taskPushNotificationConfig: config }),
        },
      },
      { token },
    );
    if (message.payload.case !== "task") throw new Error("no task");
    return message.payload.value.id;
  }

  async function workOn(id: string): Promise<void> {
    const steps: [string, object][] = [
      ["ClaimById", { id }],
      ["AddArtifact", { id, artifact: { artifactId: "a1", parts: [{ text: "the result" }] } }],
      ["Complete", { id }],
    ];
    for (const [method, body] of steps) expect((await gateway.work(worker, method, body)).status).toBe(200);
  }

  it("FR-56, A2A-40, A2A-174 a config in the send: every event, in order, as a whole 0.3 Task", async () => {
    hook = await startPushReceiver();
    const id = await start({ url: hook.url, token: "t0ken" });
    await hook.until(1);
    await workOn(id);
    const tasks = (await hook.until(4)).map((hit, i) => taskOf(hit, id, i + 1));
    expect(tasks.map(stateOf)).toEqual(["submitted", "working", "working", "completed"]);
    const [first, , , last] = tasks;
    expect(first?.history).toMatchObject([{ role: "user", parts: [{ kind: "text", text: "please" }] }]);
    expect(last?.artifacts).toMatchObject([
      { artifactId: "a1", parts: [{ kind: "text", text: "the result" }] },
    ]);
    await hook.close();
  });

  it("FR-56, A2A-174, OW-43 a config set on a task: what comes after it, with credentials and token", async () => {
    hook = await startPushReceiver();
    const id = await start();
    await driver.unary(
      "CreateTaskPushNotificationConfig",
      {
        taskId: id,
        id: "c1",
        url: hook.url,
        token: "t0ken",
        authentication: { scheme: "Bearer", credentials: "cr3d" },
      },
      { token },
    );
    const { message } = await driver.unary(
      "GetTaskPushNotificationConfig",
      { taskId: id, id: "c1" },
      { token },
    );
    expect(message).toMatchObject({ id: "c1", url: hook.url, token: "" });
    await workOn(id);
    const hits = await hook.until(3);
    expect(hits.map((hit, i) => stateOf(taskOf(hit, id, i + 2)))).toEqual([
      "working",
      "working",
      "completed",
    ]);
    // 0.3 receivers look for the token header whatever else there is (design.md section 7).
    for (const { headers } of hits) expect(headers.authorization).toBe("Bearer cr3d");
    await hook.close();
  });

  it("FR-56, D11 a repetition has the same id and sequence, the next attempt, and the same body", async () => {
    hook = await startPushReceiver({
      answer: (hit, response, count, request) =>
        respond(count === 0 ? 503 : 204)(hit, response, count, request),
    });
    const id = await start({ url: hook.url, token: "t0ken" });
    const [first, second] = await hook.until(2);
    if (first === undefined || second === undefined) throw new Error("no push");
    expect(taskOf(second, id, 1)).toEqual(taskOf(first, id, 1));
    expect([first, second].map(({ headers }) => headers["a2a-notification-attempt"])).toEqual(["1", "2"]);
    await hook.close();
  });
});
