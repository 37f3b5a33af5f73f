import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TimelineKind } from "../../gen/baton/admin/v1/task_pb.js";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Json, type RpcClient, sleep } from "../openwop/rpc.ts";
import { type Pair, startPair } from "../openwop/setup.ts";
import { type Admin, adminOf, codeOf } from "./rig.ts";

/** Reads until it is as it should become. */
async function until<T>(read: () => Promise<T>, done: (value: T) => boolean): Promise<T> {
  for (let i = 0; i < 500; i++) {
    const value = await read();
    if (done(value)) return value;
    await sleep(20);
  }
  throw new Error("it never came to be");
}

describe("tasks that are runs of a host, for operators", () => {
  let pair: Pair;
  let admin: Admin;
  let clarify: RpcClient;
  beforeAll(async () => {
    pair = await startPair(1);
    admin = adminOf(pair.gateway);
    clarify = await pair.client("clarify", { name: "carol" });
  });
  afterAll(() => pair?.stop());

  async function waiting(client: RpcClient): Promise<string> {
    const task = await client.start("hello");
    await until<Json>(
      async () => (await client.call("GetTask", { id: task.id })).result,
      (now) => /INPUT_REQUIRED|AUTH_REQUIRED/.test(now?.status?.state ?? ""),
    );
    return task.id;
  }

  it("are found, shown with the run beside, answered and told of like any other", async () => {
    const id = await waiting(clarify);
    const inbox = await admin.tasks.searchTasks({ states: [TaskState.INPUT_REQUIRED] });
    expect(inbox.tasks.map((task) => [task.agent, task.id])).toEqual([["clarify", id]]);
    expect(inbox.tasks[0]).toMatchObject({ attempt: 0, maxAttempts: 0 });
    const got = await admin.tasks.getTask({ agent: "clarify", id });
    if (got.work.case !== "run") throw new Error("not a run");
    expect(got.work.value).toMatchObject({ interruptKind: expect.any(String), credentialName: "service" });
    expect(got.work.value.questions.map(({ question }) => question)).toEqual([expect.any(String)]);
    expect(got.work.value.interruptNode).not.toBe("");
    expect(Number(got.work.value.cursor)).toBeGreaterThan(0);
    expect(JSON.stringify(got.work.value, (_, value) => String(value))).not.toContain("host-key");
    await admin.tasks.replyToTask({ agent: "clarify", id, text: "the answer" });
    const done = await until(
      async () => admin.tasks.getTask({ agent: "clarify", id }),
      (now) => now.summary?.state === TaskState.COMPLETED,
    );
    expect(done.work.case).toBe("run");
    const { entries } = await admin.tasks.getTaskTimeline({ agent: "clarify", id });
    expect(entries[0]).toMatchObject({ event: "create", actor: "carol", fromState: "", toState: "" });
    expect(entries.find(({ kind }) => kind === TimelineKind.MESSAGE)).toMatchObject({ actor: "operator" });
    expect(entries.findLast(({ kind }) => kind === TimelineKind.STATUS)?.state).toBe(TaskState.COMPLETED);
    const { agents } = await admin.stats.getStats({});
    const stats = agents.find(({ agent }) => agent === "clarify");
    expect(stats).toMatchObject({ backend: "openwop", tasks: [{ state: TaskState.COMPLETED, count: 1n }] });
    expect((await admin.queues.listQueues({})).queues).toEqual([]);
  });

  it("are canceled through the host, and cannot be retried", async () => {
    const id = await waiting(clarify);
    const { changed } = await admin.tasks.cancelTask({ agent: "clarify", id, reason: "enough" });
    expect(changed).toBe(true);
    const got = await until(
      async () => admin.tasks.getTask({ agent: "clarify", id }),
      (now) => now.summary?.state === TaskState.CANCELED,
    );
    expect(got.task?.id).toBe(id);
    expect(await codeOf(admin.tasks.retryTask({ agent: "clarify", id }))).toBe("FailedPrecondition");
    expect(await codeOf(admin.tasks.getTask({ agent: "echo", id }))).toBe("NotFound");
    expect(await codeOf(admin.tasks.cancelTask({ agent: "clarify", id: "nothing" }))).toBe("NotFound");
  });

  it("OW-29 an operator is no approver because it is an operator", async () => {
    const named = await pair.client("named-approver");
    const id = await waiting(named);
    const { work } = await admin.tasks.getTask({ agent: "named-approver", id });
    expect(work.case === "run" && work.value.approvers.length).toBeGreaterThan(0);
    const metadata = { openwop: { action: "accept" } };
    const reply = admin.tasks.replyToTask({ agent: "named-approver", id, text: "approved", metadata });
    expect(await codeOf(reply)).toBe("PermissionDenied");
  });
});
