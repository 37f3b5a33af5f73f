import { afterAll, beforeAll, expect, it } from "vitest";
import { PushFailure } from "../../gen/baton/admin/v1/push_pb.js";
import { TimelineKind } from "../../gen/baton/admin/v1/task_pb.js";
import { type PushGateway, startPushGateway } from "../push/gateway.ts";
import { type PushReceiver, quiet, respond, startPushReceiver } from "../push/receiver.ts";
import { type Admin, adminOf } from "./rig.ts";

let gateway: PushGateway;
let admin: Admin;
let hook: PushReceiver;
beforeAll(async () => {
  gateway = await startPushGateway({ attempts: 2 });
  admin = adminOf(gateway);
  hook = await startPushReceiver({ answer: respond(500) });
});
afterAll(async () => {
  await gateway?.stop();
  await hook?.close();
});

it("the timeline of a task holds what became of its pushes: attempts, a dead letter, its replay; no secret", async () => {
  const client = await gateway.vend({ push: true });
  const push = { taskPushNotificationConfig: { url: `${hook.url}?q=hidden`, token: "tok-hidden" } };
  const { result } = await gateway.send(client, push);
  const { result: other } = await gateway.send(client, push);
  const id = result.task.id as string;
  const kinds = async () => {
    const { entries } = await admin.tasks.getTaskTimeline({ id });
    return entries;
  };
  for (let i = 0; i < 200 && (await kinds()).length < 4; i++) await quiet(25);
  const entries = await kinds();
  expect(entries.map(({ kind }) => TimelineKind[kind])).toEqual([
    "STATUS",
    "PUSH_ATTEMPT",
    "PUSH_ATTEMPT",
    "PUSH_DEAD",
  ]);
  expect(entries[1]?.pushAttempt).toMatchObject({
    taskId: id,
    attempt: 1,
    httpStatus: 500,
    delivered: false,
  });
  expect(entries[2]?.sequence).toBe(1n);
  expect(entries[3]?.deadLetter).toMatchObject({ failure: PushFailure.STATUS_RETRYABLE, attempts: 2 });
  expect(entries[3]?.summary).toMatch(/^push 1 to .+ given up after 2 attempts/);
  expect(JSON.stringify(entries, (_, value) => String(value))).not.toContain("hidden");
  const stats = (await admin.stats.getStats({})).agents[0];
  expect(Number(stats?.deadPushes)).toBeGreaterThanOrEqual(1);

  hook.answer = respond(200);
  await gateway.admin("ReplayDeadLetters", { ids: [entries[3]?.deadLetter?.id] });
  for (let i = 0; i < 200 && (await kinds()).length < 5; i++) await quiet(25);
  const after = await kinds();
  const replay = after.find(({ event }) => event === "push_replay");
  expect(replay).toMatchObject({ kind: TimelineKind.ACTION, actor: "operator" });
  expect(after.at(-1)?.pushAttempt).toMatchObject({ delivered: true });
  expect((await admin.tasks.getTaskTimeline({ id: other.task.id })).entries[0]?.event).toBe("create");
  const { summary, pushConfigs } = await admin.tasks.getTask({ id });
  expect(summary?.id).toBe(id);
  expect(pushConfigs).toBe(1);
});
