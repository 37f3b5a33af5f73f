import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TimelineKind } from "../../gen/baton/admin/v1/task_pb.js";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { agentSays, type Sender, says, senderOf, textOf, workerOf } from "../engine/client.ts";
import { adminOf, codeOf, startTwo, type Two } from "./rig.ts";

const AGENTS = { alpha: { queues: ["build", "docs"], defaultQueue: "build" }, beta: {}, empty: {} };

let two: Two;
let ann: Sender;
let bob: Sender;
let worker: ReturnType<typeof workerOf>;

beforeAll(async () => {
  two = await startTwo({ agents: AGENTS, defaultAgent: "alpha", retries: { maxAttempts: 1 } });
  const { gateway } = two;
  const queues = ["build", "docs"];
  ann = senderOf(gateway.url, await gateway.vend({ agent: "alpha", name: "ann", queues }));
  bob = senderOf(gateway.url, await gateway.vend({ agent: "beta", name: "bob" }));
  worker = workerOf(gateway.url, await gateway.vendWorker({ agent: "alpha", name: "mill", queues }));
});
afterAll(() => two?.stop());

async function ids(request: Parameters<Two["admin"]["tasks"]["searchTasks"]>[0]): Promise<string[]> {
  const { tasks } = await two.admin.tasks.searchTasks(request);
  return tasks.map(({ id }) => id);
}

describe("TaskService.SearchTasks", () => {
  it("finds nothing where there is nothing, and says so without a token", async () => {
    const page = await two.admin.tasks.searchTasks({ agent: "empty" });
    expect(page.tasks).toEqual([]);
    expect(page.nextPageToken).toBe("");
  });

  it("finds tasks of every client and agent, the latest status first, on either replica", async () => {
    const first = await ann.send("first");
    const second = await bob.send("second");
    const third = await ann.send("third", { metadata: { queue: "docs" } });
    const found = (await two.otherAdmin.tasks.searchTasks({})).tasks;
    expect(found.slice(0, 3).map(({ id, agent }) => [id, agent])).toEqual([
      [third.id, "alpha"],
      [second.id, "beta"],
      [first.id, "alpha"],
    ]);
    expect(found[0]).toMatchObject({
      queue: "docs",
      title: "third",
      state: TaskState.SUBMITTED,
      contextId: third.contextId,
      endpointId: await two.endpointId("ann"),
      attempt: 0,
      maxAttempts: 1,
    });
    await worker.claimById({ id: first.id, claimant: "press-1" });
    const [claimed] = (await two.otherAdmin.tasks.searchTasks({})).tasks;
    expect(claimed).toMatchObject({ id: first.id, state: TaskState.WORKING, attempt: 1 });
    expect(claimed?.holder).toMatchObject({
      endpointId: await two.endpointId("mill"),
      worker: "press-1",
    });
  });

  it("filters by agent, endpoint, state, queue, context, id and time, and by all together", async () => {
    const annId = await two.endpointId("ann");
    const build = await ann.send("build it", { message: { contextId: "ctx-search" } });
    const docs = await ann.send("write it", { metadata: { queue: "docs" } });
    await ann.client.cancelTask({ id: docs.id });
    expect(await ids({ agent: "beta", endpointId: annId })).toEqual([]);
    expect(await ids({ endpointId: annId, states: [TaskState.CANCELED] })).toEqual([docs.id]);
    expect(await ids({ queue: "docs", states: [TaskState.CANCELED, TaskState.COMPLETED] })).toEqual([
      docs.id,
    ]);
    expect(await ids({ contextId: "ctx-search" })).toEqual([build.id]);
    expect(await ids({ contextId: "ctx-search", endpointId: annId })).toEqual([build.id]);
    expect(await ids({ contextId: "ctx-search", endpointId: annId, states: [TaskState.SUBMITTED] })).toEqual([
      build.id,
    ]);
    expect(await ids({ contextId: "ctx-search", states: [TaskState.WORKING] })).toEqual([]);
    expect(await ids({ idPrefix: docs.id.slice(0, 12) })).toEqual([docs.id]);
    expect(await ids({ idPrefix: docs.id.slice(0, 12), queue: "build" })).toEqual([]);
    const { summary } = await two.admin.tasks.getTask({ id: docs.id });
    const at = summary?.statusAt;
    if (at === undefined) throw new Error("no time");
    expect((await ids({ statusAfter: at }))[0]).toBe(docs.id);
    expect(await ids({ statusBefore: at })).not.toContain(docs.id);
    expect(await ids({ statusBefore: at })).toContain(build.id);
  });

  it("turns pages over agents without a gap or a repetition, also by a filter without an index", async () => {
    for (let i = 0; i < 7; i++) await Promise.all([ann.send(`a${i}`), bob.send(`b${i}`)]);
    const all = (await two.admin.tasks.searchTasks({ pageSize: 200 })).tasks.map(({ id }) => id);
    for (const filter of [{}, { idPrefix: "td_" }, { endpointId: await two.endpointId("bob") }]) {
      const expected = await ids({ ...filter, pageSize: 200 });
      const paged: string[] = [];
      let pageToken = "";
      do {
        const page = await two.admin.tasks.searchTasks({ ...filter, pageSize: 3, pageToken });
        expect(page.tasks.length).toBeLessThanOrEqual(3);
        paged.push(...page.tasks.map(({ id }) => id));
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
      expect(paged).toEqual(expected);
      if (!("endpointId" in filter)) expect(paged).toEqual(all);
    }
  });

  it("refuses what it cannot answer: sizes, states, agents, tokens of others", async () => {
    const { tasks } = two.admin;
    expect(await codeOf(tasks.searchTasks({ pageSize: 201 }))).toBe("InvalidArgument");
    expect(await codeOf(tasks.searchTasks({ pageSize: 2 ** 31 - 1 }))).toBe("InvalidArgument");
    expect(await codeOf(tasks.searchTasks({ pageSize: -1 }))).toBe("InvalidArgument");
    expect(await codeOf(tasks.searchTasks({ states: [0] }))).toBe("InvalidArgument");
    expect(await codeOf(tasks.searchTasks({ states: [99 as TaskState] }))).toBe("InvalidArgument");
    expect(await codeOf(tasks.searchTasks({ idPrefix: "x".repeat(513) }))).toBe("InvalidArgument");
    for (const agent of ["nobody", "__proto__", "constructor", "toString"]) {
      expect(await codeOf(tasks.searchTasks({ agent })), agent).toBe("InvalidArgument");
    }
    const { nextPageToken } = await tasks.searchTasks({ pageSize: 1 });
    expect(nextPageToken).not.toBe("");
    for (const pageToken of ["x", "a.b", `${nextPageToken}x`, "__proto__", "e30.e30"]) {
      expect(await codeOf(tasks.searchTasks({ pageSize: 1, pageToken })), pageToken).toBe("InvalidArgument");
    }
    const elsewhere = tasks.searchTasks({ pageSize: 1, agent: "beta", pageToken: nextPageToken });
    expect(await codeOf(elsewhere)).toBe("InvalidArgument");
    // The page size is no filter.
    expect(await codeOf(tasks.searchTasks({ pageSize: 2, pageToken: nextPageToken }))).toBe("ok");
  });

  it("takes any time that there is, and refuses those that there are not", async () => {
    for (const seconds of [-62_135_596_800n, 0n, 253_402_300_799n]) {
      const time = { seconds, nanos: 999_999_999 };
      const future = seconds > 0n;
      expect((await ids({ statusAfter: time })).length > 0, `after ${seconds}`).toBe(!future);
      expect((await ids({ statusBefore: time })).length > 0, `before ${seconds}`).toBe(future);
    }
    for (const seconds of [2n ** 62n, -(2n ** 62n)]) {
      const { tasks } = two.otherAdmin;
      expect(await codeOf(tasks.searchTasks({ statusAfter: { seconds, nanos: 0 } }))).toBe("InvalidArgument");
      expect(await codeOf(two.otherAdmin.audit.listAuditEntries({ since: { seconds, nanos: 0 } }))).toBe(
        "InvalidArgument",
      );
    }
  });

  it("leaves out, and forgets, what an index only seems to hold", async () => {
    const { id } = await bob.send("moved behind its back");
    const key = "baton:{beta}:idx:a:s3";
    await two.redis.run(key, ["ZADD", key, "1", id]);
    await two.redis.run(key, ["ZADD", key, "2", "td_gone"]);
    expect(await ids({ agent: "beta", states: [TaskState.COMPLETED] })).toEqual([]);
    expect(await two.redis.run(key, ["ZCARD", key])).toBe(0);
    expect((await ids({ agent: "beta" }))[0]).toBe(id);
  });

  it("takes names of what every object has for names of nothing", async () => {
    for (const name of ["__proto__", "constructor", "hasOwnProperty"]) {
      expect(await ids({ endpointId: name }), name).toEqual([]);
      expect(await ids({ queue: name }), name).toEqual([]);
      expect(await ids({ contextId: name, endpointId: name }), name).toEqual([]);
      expect(await codeOf(two.admin.tasks.getTask({ id: name })), name).toBe("NotFound");
    }
    // A sender's indexes are named after it; what reads like a part of such a name is none.
    for (const part of ["s1", "pin", "moved", "c:x"]) {
      expect(await ids({ endpointId: `${await two.endpointId("ann")}:${part}` }), part).toEqual([]);
    }
  });

  it("needs the admin credential", async () => {
    for (const token of ["wrong", await two.gateway.vend({ agent: "beta" })]) {
      const stranger = adminOf(two.gateway, { token });
      expect(await codeOf(stranger.tasks.searchTasks({}))).toBe("Unauthenticated");
      expect(await codeOf(stranger.tasks.cancelTask({ id: "x" }))).toBe("Unauthenticated");
      expect(await codeOf(stranger.stats.getStats({}))).toBe("Unauthenticated");
      expect(await codeOf(stranger.audit.listAuditEntries({}))).toBe("Unauthenticated");
    }
  });
});

describe("TaskService", () => {
  it("shows a todo whole: as its client sees it, its place in line, its holder, its attempts", async () => {
    const early = await ann.send("early", { metadata: { queue: "docs", idempotencyKey: "once" } });
    const late = await ann.send("late", { metadata: { queue: "docs" } });
    const place = async (id: string) => {
      const { work } = await two.admin.tasks.getTask({ id });
      return work.case === "todo" ? Number(work.value.position) : -1;
    };
    expect((await place(late.id)) - (await place(early.id))).toBe(1);
    await worker.claimById({ id: early.id, claimant: "press-2" });
    await worker.requireInput({ id: early.id, message: agentSays("which one?") });
    const got = await two.otherAdmin.tasks.getTask({ agent: "alpha", id: early.id });
    expect(got.summary).toMatchObject({ state: TaskState.INPUT_REQUIRED, statusText: "which one?" });
    expect(textOf(got.task?.history[0])).toBe("early");
    expect(got.idempotencyKey).toBe(true);
    expect(got.removedAt).toBeUndefined();
    if (got.work.case !== "todo") throw new Error("not a todo");
    const todo = got.work.value;
    expect(todo).toMatchObject({ state: "input-required", position: 0n, claims: 1 });
    expect(Number(todo.waitEndsAt?.seconds)).toBeGreaterThan(Number(todo.waitingSince?.seconds));
    expect(todo.attempts).toMatchObject([{ sequence: 1, attempt: 1, worker: "press-2", outcome: "" }]);
    const again = await two.admin.tasks.getTask({ id: early.id, knownRevision: got.revision });
    expect({ ...again, task: got.task }, "all but the task where it is known").toEqual(got);
    expect(again.task).toBeUndefined();
    await ann.send("the blue one", { message: { taskId: early.id } });
    const changed = await two.admin.tasks.getTask({ id: early.id, knownRevision: got.revision });
    expect(changed.task?.history.map(textOf)).toEqual(["early", "which one?", "the blue one"]);
    expect(await codeOf(two.admin.tasks.getTask({ id: randomUUID() }))).toBe("NotFound");
    expect(await codeOf(two.admin.tasks.getTask({ id: `${early.id}:log` }))).toBe("NotFound");
    expect(await codeOf(two.admin.tasks.getTask({ agent: "beta", id: early.id }))).toBe("NotFound");
    expect(await codeOf(two.admin.tasks.getTask({ id: " " }))).toBe("InvalidArgument");
  });

  it("tells the whole story of a task, in order: who, what, when", async () => {
    const task = await ann.send("make it");
    await worker.claimById({ id: task.id, claimant: "press-3" });
    await worker.updateStatus({ id: task.id, message: agentSays("half way") });
    await ann.send("and hurry", { message: { taskId: task.id } });
    await worker.requireInput({ id: task.id, message: agentSays("red or blue?") });
    const reply = { id: task.id, text: "red" };
    const { task: after } = await two.otherAdmin.tasks.replyToTask(reply);
    expect(after?.status?.state).toBe(TaskState.WORKING);
    const artifact = (artifactId: string) => ({
      artifactId,
      parts: [{ content: { case: "text" as const, value: "x" } }],
    });
    await worker.addArtifact({ id: task.id, artifact: artifact("a1") });
    await worker.complete({ id: task.id, artifacts: [artifact("a2")] });
    const { entries, truncated } = await two.admin.tasks.getTaskTimeline({ id: task.id });
    expect(truncated).toBe(false);
    expect(entries.map(({ event, actor, kind }) => [event, actor, TimelineKind[kind]])).toEqual([
      ["create", "ann", "STATUS"],
      ["claim", "mill", "STATUS"],
      ["progress", "mill", "STATUS"],
      ["message", "ann", "MESSAGE"],
      ["require_input", "mill", "STATUS"],
      ["reply", "operator", "STATUS"],
      ["artifact", "mill", "ARTIFACT"],
      ["", "", "ARTIFACT"],
      ["complete", "mill", "STATUS"],
    ]);
    expect(entries.map(({ state }) => state)).toEqual([1, 2, 2, 0, 6, 2, 0, 0, 3]);
    expect(entries[4]).toMatchObject({ fromState: "claimed", toState: "input-required" });
    expect(entries[4]?.summary).toBe("mill asks for input: red or blue?");
    expect(textOf(entries[4]?.message)).toBe("red or blue?");
    expect(entries[7]?.artifactId).toBe("a2");
    const times = entries.map(({ time }) => Number(time?.seconds) * 1e9 + Number(time?.nanos));
    expect([...times].sort((a, b) => a - b)).toEqual(times);
    expect(entries[0]?.sincePrevious).toBeUndefined();
    expect(entries[1]?.sincePrevious).toBeDefined();
    const short = await two.admin.tasks.getTaskTimeline({ id: task.id, limit: 2 });
    expect(short.entries.map(({ event }) => event)).toEqual(["", "complete"]);
    expect(short.truncated).toBe(true);
    expect(await codeOf(two.admin.tasks.getTaskTimeline({ id: "nothing" }))).toBe("NotFound");
    expect(await codeOf(two.admin.tasks.getTaskTimeline({ id: task.id, limit: 2001 }))).toBe(
      "InvalidArgument",
    );
  });

  it("answers what waits for a person; the client sees an ordinary message, the audit the operator", async () => {
    const task = await ann.send("ask me");
    await worker.claimById({ id: task.id });
    await worker.requireAuth({ id: task.id, message: agentSays("may I?") });
    const inbox = await two.admin.tasks.searchTasks({
      states: [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED],
      agent: "alpha",
    });
    expect(inbox.tasks[0]).toMatchObject({ id: task.id, statusText: "may I?" });
    const answer = { id: task.id, text: "yes", messageId: randomUUID() };
    await two.admin.tasks.replyToTask(answer);
    await two.otherAdmin.tasks.replyToTask(answer);
    const { history } = await ann.get(task.id);
    expect(history.filter((message) => textOf(message) === "yes")).toHaveLength(1);
    const inputs = await worker.getMessages({ id: task.id });
    expect(inputs.messages.map(textOf)).toContain("yes");
    const other = { ...answer, text: "no" };
    expect(await codeOf(two.admin.tasks.replyToTask(other))).toBe("InvalidArgument");
    expect(await codeOf(two.admin.tasks.replyToTask({ id: task.id }))).toBe("InvalidArgument");
    expect(await codeOf(two.admin.tasks.replyToTask({ id: "nothing", text: "x" }))).toBe("NotFound");
    await worker.complete({ id: task.id });
    const late = two.admin.tasks.replyToTask({ id: task.id, text: "too late" });
    expect(await codeOf(late)).toBe("FailedPrecondition");
  });

  it("cancels once, retries what failed for good, and refuses the rest", async () => {
    const task = await ann.send("stop me");
    const canceled = await two.admin.tasks.cancelTask({ id: task.id, reason: "a mistake" });
    expect(canceled.changed).toBe(true);
    expect(textOf(canceled.task?.status?.message)).toBe("a mistake");
    expect(await ann.state(task.id)).toBe("CANCELED");
    expect((await two.admin.tasks.cancelTask({ id: task.id })).changed).toBe(false);
    expect(await codeOf(two.admin.tasks.retryTask({ id: task.id }))).toBe("Aborted");
    expect(await codeOf(two.admin.tasks.cancelTask({ id: "nothing" }))).toBe("NotFound");
    const long = two.admin.tasks.cancelTask({ id: task.id, reason: "x".repeat(1001) });
    expect(await codeOf(long)).toBe("InvalidArgument");

    const broken = await ann.send("break");
    await worker.claimById({ id: broken.id });
    await worker.fail({ id: broken.id, summary: "no luck" });
    expect(await ann.state(broken.id)).toBe("FAILED");
    const retried = await two.otherAdmin.tasks.retryTask({ id: broken.id });
    expect(retried.task?.status?.state).toBe(TaskState.SUBMITTED);
    expect(await codeOf(two.admin.tasks.retryTask({ id: broken.id }))).toBe("Aborted");
    expect(await codeOf(two.admin.tasks.retryTask({ id: "nothing" }))).toBe("NotFound");
    const { entries } = await two.admin.tasks.getTaskTimeline({ id: broken.id });
    expect(entries.map(({ event }) => event)).toEqual(["create", "claim", "fail_dead", "retry"]);
  });

  it("answers a browser of the same origin: plain JSON, without a preflight to pass", async () => {
    const task = await ann.send("seen from a page");
    const response = await fetch(`${two.gateway.adminUrl}/baton.admin.v1.TaskService/GetTask`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "connect-protocol-version": "1",
        origin: two.gateway.adminUrl,
        authorization: `Bearer ${two.gateway.adminToken}`,
      },
      body: JSON.stringify({ id: task.id }),
    });
    expect(response.status).toBe(200);
    const body = (await response.json()) as { summary: object; todo: object };
    expect(body.summary).toMatchObject({ id: task.id, state: "TASK_STATE_SUBMITTED" });
    expect(body.todo).toMatchObject({ state: "pending" });
  });

  it("an operator's eyes are not lent to anybody else", async () => {
    const task = await ann.send("mine");
    const stranger = senderOf(two.gateway.url, await two.gateway.vend({ agent: "alpha", queues: ["build"] }));
    await expect(stranger.get(task.id)).rejects.toMatchObject({ rawMessage: "task not found" });
    const other = senderOf(two.gateway.url, two.gateway.adminToken);
    await expect(other.client.sendMessage({ message: says("hi") })).rejects.toMatchObject({ code: 16 });
  });
});
