import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type PushGateway, startPushGateway } from "./gateway.ts";
import { type PushReceiver, quiet, respond, startPushReceiver } from "./receiver.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
type Json = any;

let gateway: PushGateway;
let client: string;
let hook: PushReceiver;
beforeAll(async () => {
  gateway = await startPushGateway({ attempts: 2 });
  client = await gateway.vend({ push: true });
  hook = await startPushReceiver({ answer: respond(500) });
});
afterAll(async () => {
  await gateway.stop();
  await hook.close();
});
beforeEach(() => {
  hook.answer = respond(500);
});

const admin = async (method: string, body: object = {}): Promise<Json> =>
  (await gateway.admin(method, body)).json();

async function failedTask(): Promise<string> {
  const { result } = await gateway.send(client, {
    taskPushNotificationConfig: { url: `${hook.url}?q=hidden`, token: "tok" },
  });
  return result.task.id as string;
}

async function letters(taskId: string, count: number): Promise<Json[]> {
  for (let i = 0; i < 200; i++) {
    const { deadLetters = [] } = await admin("ListDeadLetters", { taskId });
    if (deadLetters.length >= count) return deadLetters;
    await quiet(25);
  }
  throw new Error("no dead letter came");
}

describe("PushService", () => {
  it("FR-54 a dead letter is listed and inspected: reason, attempts, guard's decision; no path, query or secret", async () => {
    const taskId = await failedTask();
    const [letter] = await letters(taskId, 1);
    expect(letter).toMatchObject({
      taskId,
      configId: expect.stringMatching(/^pnc-/),
      endpointId: expect.any(String),
      host: `127.0.0.1:${hook.port}`,
      sequence: "1",
      protocolVersion: "1.0",
      failure: "PUSH_FAILURE_STATUS_RETRYABLE",
      attempts: 2,
      lastAttempt: {
        attempt: 2,
        httpStatus: 500,
        egress: { allowed: true, arm: "address", reason: "allowed" },
      },
    });
    expect(await admin("GetDeadLetter", { id: letter.id })).toEqual({ deadLetter: letter });
    const text = JSON.stringify(letter);
    for (const secret of ["hidden", "/hook", "tok"]) expect(text).not.toContain(secret);
    const { attempts } = await admin("ListPushAttempts", { taskId });
    expect(attempts.map(({ attempt }: Json) => attempt)).toEqual([2, 1]);
    expect(attempts[1].nextAttemptAt).toBeDefined();
  });

  it("replays one, and all since a time; what succeeds is no dead letter any more", async () => {
    const [one, two, three] = [await failedTask(), await failedTask(), await failedTask()];
    const [first] = await letters(one, 1);
    await letters(two, 1);
    await letters(three, 1);
    hook.answer = respond(204);
    const before = hook.hits.length;
    expect(await admin("ReplayDeadLetters", { ids: [first.id] })).toEqual({ replayed: 1 });
    await hook.until(before + 1);
    const replayed = await admin("ReplayDeadLetters", { since: first.deadAt });
    expect(replayed.replayed).toBeGreaterThanOrEqual(2);
    await hook.until(before + 1 + replayed.replayed);
    // A push is settled after its receiver has answered, so the list follows a little later.
    for (const task of [one, two, three]) {
      const left = async () => (await admin("ListDeadLetters", { taskId: task })).deadLetters ?? [];
      await expect.poll(left, { timeout: 15_000 }).toEqual([]);
    }
    // The same event, so the same id; the attempts start anew.
    const last = hook.hits.slice(before).find(({ body }) => body.includes(three));
    expect(last?.headers).toMatchObject({
      "a2a-notification-id": `${three}/1`,
      "a2a-notification-attempt": "1",
    });
  });

  it("purges one, and all since a time", async () => {
    const [one, two] = [await failedTask(), await failedTask()];
    const [first] = await letters(one, 1);
    await letters(two, 1);
    expect(await admin("PurgeDeadLetters", { ids: [first.id, "unknown"] })).toEqual({ purged: 1 });
    expect((await gateway.admin("GetDeadLetter", { id: first.id })).status).toBe(404);
    const { purged } = await admin("PurgeDeadLetters", { since: "2020-01-01T00:00:00Z" });
    expect(purged).toBeGreaterThanOrEqual(1);
    expect((await admin("GetPushStatus")).deadLetterCount ?? "0").toBe("0");
  });

  it("shows what waits, the longest first, and the operator's exceptions", async () => {
    const slow = await startPushReceiver({ answer: respond(503, { "retry-after": "30" }) });
    const { result } = await gateway.send(client, { taskPushNotificationConfig: { url: slow.url } });
    await slow.until(1);
    await quiet(100);
    const status = await admin("GetPushStatus");
    expect(status).toMatchObject({
      enabled: true,
      laneCount: "1",
      lanes: [
        {
          taskId: result.task.id,
          depth: 1,
          attempts: 1,
          lastAttempt: { failure: "PUSH_FAILURE_STATUS_RETRYABLE", httpStatus: 503 },
        },
      ],
      egressExceptions: [expect.stringContaining("127.0.0.1/32")],
    });
    await slow.close();
  });

  it("refuses ids together with a time, neither, an unknown agent, and strangers", async () => {
    for (const method of ["ReplayDeadLetters", "PurgeDeadLetters"]) {
      expect((await gateway.admin(method, {})).status).toBe(400);
      expect((await gateway.admin(method, { ids: ["x"], since: "2020-01-01T00:00:00Z" })).status).toBe(400);
      expect((await gateway.admin(method, { agent: "nobody", ids: ["x"] })).status).toBe(400);
    }
    expect((await gateway.admin("ListDeadLetters", { limit: 1001 })).status).toBe(400);
    const stranger = await fetch(`${gateway.adminUrl}/baton.admin.v1.PushService/ListDeadLetters`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${client}` },
      body: "{}",
    });
    expect(stranger.status).toBe(401);
  });
});
