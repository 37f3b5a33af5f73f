/** Forks that are made through the pass-through (openwop.md 7, question 11; RFC 0214 D), before a host of either major. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lastPush, type PushPair, runPath, startPushPair } from "./push-pair.ts";
import { type Json, RpcClient, sleep } from "./rpc.ts";

/** Longer than the retries of this configuration take. */
const QUIET_MS = 1500;

describe.each([1, 2] as const)("forks made through Baton, before a host of major %i", (major) => {
  let pair: PushPair;
  beforeAll(async () => {
    pair = await startPushPair(major);
  }, 60_000);
  afterAll(() => pair?.stop());

  it("OW-53 a replay is marked, shows its state and tells nothing: no push config, no artifacts", async () => {
    const hook = await pair.receiver();
    const source = await pair.completed({ url: hook.url });
    expect(source.artifacts.length).toBeGreaterThan(0);
    const hits = await lastPush(hook);
    const { body, status } = await pair.fork(source.id, { mode: "replay" });
    expect([status, body.sourceRunId, body.mode]).toEqual([201, source.id, "replay"]);
    const task = await pair.suite.until(body.runId, "TASK_STATE_COMPLETED");
    expect(task.metadata.openwop.fork).toEqual({ mode: "replay", sourceTaskId: source.id });
    expect(task.contextId).toBe(body.runId);
    expect([task.artifacts ?? [], task.history ?? []]).toEqual([[], []]);
    const refused = await pair.register(body.runId, { url: hook.url });
    expect(refused.error.code).toBe(-32004);
    expect(JSON.stringify(refused.error.data)).toContain("UNSUPPORTED_OPERATION");
    const { result } = await pair.suite.call("ListTaskPushNotificationConfigs", { taskId: body.runId });
    expect(result.configs ?? []).toEqual([]);
    await sleep(QUIET_MS);
    expect(hook.hits).toHaveLength(hits);
  });

  it("OW-57 a reply cannot bring a replay a push config either, and is refused before the host is asked", async () => {
    const hook = await pair.receiver();
    const source = await pair.suite.start();
    const { body } = await pair.fork(source.id, { mode: "replay" });
    await pair.suite.until(body.runId, "TASK_STATE_INPUT_REQUIRED");
    const asked = (await pair.host.control("requests")).length;
    const { error } = await pair.suite.call("SendMessage", {
      message: {
        messageId: randomUUID(),
        role: "ROLE_USER",
        taskId: body.runId,
        parts: [{ data: { action: "accept" } }],
      },
      configuration: { taskPushNotificationConfig: { url: hook.url } },
    });
    expect(error.code).toBe(-32004);
    const since: Json[] = (await pair.host.control("requests")).slice(asked);
    expect(since.filter(({ path: to }) => to.includes("/interrupts/"))).toEqual([]);
  });

  it("OW-53 a branch is marked and new work: it inherits no config, and may have its own", async () => {
    const inherited = await pair.receiver();
    const own = await pair.receiver();
    const source = await pair.completed({ url: inherited.url });
    const before = await lastPush(inherited);
    const { body } = await pair.fork(source.id, { mode: "branch", fromSeq: 1 });
    const task = await pair.suite.task(body.runId);
    expect(task.metadata.openwop.fork).toEqual({ mode: "branch", sourceTaskId: source.id });
    expect((await pair.register(body.runId, { url: own.url })).error).toBeUndefined();
    await pair.suite.call("CancelTask", { id: body.runId });
    const canceled = await pair.suite.until(body.runId, "TASK_STATE_CANCELED");
    expect(canceled.metadata.openwop.fork.mode).toBe("branch");
    await own.until(1);
    for (const hit of own.hits) expect(JSON.parse(hit.body).statusUpdate.taskId).toBe(body.runId);
    expect(inherited.hits).toHaveLength(before);
  });

  it("OW-10 OW-13 the record of a fork is one like any other; OW-26 it is its owner's alone", async () => {
    const source = await pair.completed();
    const { body } = await pair.fork(source.id, { mode: "replay" });
    await pair.suite.until(body.runId, "TASK_STATE_COMPLETED");
    const seam = `${pair.gateway.url}/v1/a2a/tasks/${encodeURIComponent(body.runId)}`;
    const read = await fetch(seam, { headers: { authorization: `Bearer ${pair.suite.token}` } });
    const record: Json = await read.json();
    expect(Object.keys(record).sort()).toEqual(["contextId", "runId", "state", "taskId", "updatedAt"]);
    expect(record).toMatchObject({ taskId: body.runId, runId: body.runId, state: "completed" });
    const stranger = new RpcClient(pair.gateway.url, await pair.gateway.vend("fronted"));
    expect((await stranger.call("GetTask", { id: body.runId })).error.code).toBe(-32001);
    expect((await pair.driver(runPath(body.runId), { key: stranger.token })).status).toBe(404);
    expect(
      (
        await pair.driver(`${runPath(source.id)}:fork`, {
          method: "POST",
          body: JSON.stringify({ mode: "replay" }),
          key: stranger.token,
        })
      ).status,
    ).toBe(404);
  });

  it("OW-26 a fork of a run that is no task is none either, and a refused fork marks nothing", async () => {
    const made = await pair.driver("/runs", {
      method: "POST",
      body: JSON.stringify({ workflowId: "conformance-approval", inputs: {} }),
    });
    expect(made.status).toBe(201);
    const child = await pair.fork(made.body.runId, { mode: "replay" });
    expect(child.status).toBe(201);
    expect((await pair.suite.call("GetTask", { id: child.body.runId })).error.code).toBe(-32001);
    const task = await pair.suite.start();
    const before = (await pair.suite.call("ListTasks", {})).result.totalSize;
    expect((await pair.fork(task.id, { mode: "branch" })).body.error).toBe("fork_point_invalid");
    expect((await pair.suite.call("ListTasks", {})).result.totalSize).toBe(before);
  });

  it("OW-53 a fork that is asked for by the projected form of its source's id is marked too", async () => {
    const source = await pair.completed();
    const projected = source.id.replace("/", "~2F");
    const made = await pair.driver(`/runs/${projected}:fork`, {
      method: "POST",
      body: JSON.stringify({ mode: "replay" }),
    });
    expect(made.status).toBe(201);
    expect((await pair.suite.task(made.body.runId)).metadata.openwop.fork.sourceTaskId).toBe(source.id);
  });
});
