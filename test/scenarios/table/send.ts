/** SendMessage that starts a task. */
import { randomUUID } from "node:crypto";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { expect } from "vitest";
import { Role, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { at, message } from "../actors.ts";
import { notInProto03, type Scenario, scenario } from "../scenario.ts";

export const SEND: readonly Scenario[] = [
  scenario("A2A-29 A2A-32 SB-4 returnImmediately answers a submitted task at once", async ({ alice }) => {
    const before = performance.now();
    const task = await alice.start("write the report");
    expect(performance.now() - before).toBeLessThan(1500);
    expect(task.status?.state).toBe(TaskState.SUBMITTED);
    expect(task.id).not.toBe("");
    expect((await alice.get(task.id)).id).toBe(task.id);
  }),

  scenario("SB-4 the worker sees the todo under the id of the task", async ({ alice, worker }) => {
    const task = await alice.start("one record");
    const { todo } = await worker.client.getTodo({ id: task.id });
    expect(todo).toMatchObject({
      id: task.id,
      title: "one record",
      contextId: task.contextId,
      agent: "default",
    });
  }),

  scenario(
    "A2A-30 A2A-31 FR-25 a send waits for the end and answers with artifacts",
    async ({ alice, worker }) => {
      const content = message("blocking");
      const started = await alice.start(content);
      await worker.claim(started.id);
      const waiting = alice.send(content);
      await new Promise((resolve) => setTimeout(resolve, 100));
      await worker.complete(started.id, [{ artifactId: "a", parts: [{ text: "done" }] }]);
      const task = await waiting;
      expect(task.status?.state).toBe(TaskState.COMPLETED);
      expect(task.artifacts.map(({ artifactId }) => artifactId)).toEqual(["a"]);
    },
  ),

  scenario("A2A-30 a send that waits is answered when input is required", async ({ alice, worker }) => {
    const content = message("ask me");
    const { id } = await alice.start(content);
    await worker.claim(id);
    const waiting = alice.send(content);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await worker.ask(id, "which one?");
    const task = await waiting;
    expect(task.status?.state).toBe(TaskState.INPUT_REQUIRED);
    expect(task.status?.message?.parts[0]?.content.value).toBe("which one?");
  }),

  scenario(
    "A2A-30 a send that waits is answered when authorization is required",
    async ({ alice, worker }) => {
      const content = message("needs a grant");
      const { id } = await alice.start(content);
      await worker.claim(id);
      const waiting = alice.send(content);
      await new Promise((resolve) => setTimeout(resolve, 50));
      await worker.askAuth(id, "please sign in");
      expect((await waiting).status?.state).toBe(TaskState.AUTH_REQUIRED);
    },
  ),

  scenario("A2A-30 a send that waits too long answers the task as it is", async ({ alice }) => {
    const task = await alice.with({ timeoutMs: 20_000 }).send(message("nobody works on this"));
    expect(task.status?.state).toBe(TaskState.SUBMITTED);
  }),

  scenario("A2A-34 FR-22 the answered task is a snapshot", async ({ alice, worker }) => {
    const task = await alice.start();
    await worker.do(task.id, [{ artifactId: "late", parts: [{ text: "x" }] }]);
    expect(task.status?.state).toBe(TaskState.SUBMITTED);
    expect(task.artifacts).toEqual([]);
  }),

  scenario("A2A-48 A2A-54 ids of task and context are made by the server and unique", async ({ alice }) => {
    const tasks = await Promise.all([alice.start(), alice.start(), alice.start()]);
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(3);
    expect(new Set(tasks.map(({ contextId }) => contextId)).size).toBe(3);
    for (const { id, contextId } of tasks) expect([id, contextId]).not.toContain("");
  }),

  scenario("A2A-49 A2A-52 a client's contextId is kept and starts a new task in it", async ({ alice }) => {
    const contextId = `ctx-${randomUUID()}`;
    const first = await alice.start(message("one", { contextId }));
    const second = await alice.start(message("two", { contextId }));
    expect([first.contextId, second.contextId]).toEqual([contextId, contextId]);
    expect(second.id).not.toBe(first.id);
  }),

  scenario("A2A-53 naming somebody else's context neither joins nor shows it", async ({ alice, bob }) => {
    const contextId = `ctx-${randomUUID()}`;
    const hers = await alice.start(message("hers", { contextId }));
    const his = await bob.start(message("his", { contextId }));
    expect(his.id).not.toBe(hers.id);
    expect(his.history.map(({ parts }) => parts[0]?.content.value)).toEqual(["his"]);
  }),

  scenario("A2A-73 the message stands in the history with task and context ids", async ({ alice }) => {
    const content = message("remember me");
    const task = await alice.get((await alice.start(content)).id);
    expect(task.history).toHaveLength(1);
    expect(task.history[0]).toMatchObject({
      messageId: content.messageId,
      role: Role.USER,
      taskId: task.id,
      contextId: task.contextId,
    });
  }),

  scenario("A2A-44 FR-18 the same messageId and content answer the same task", async ({ alice, worker }) => {
    const content = message("once only");
    const sends = await Promise.all(Array.from({ length: 10 }, () => alice.start(content)));
    expect(new Set(sends.map(({ id }) => id)).size).toBe(1);
    const { todos } = await worker.client.listTodos({ queue: "default", limit: 200 });
    expect(todos.filter(({ message: sent }) => sent?.messageId === content.messageId)).toHaveLength(1);
  }),

  scenario("A2A-44 a retry of a send after the end answers the ended task", async ({ alice, worker }) => {
    const content = message("late retry");
    const { id } = await alice.start(content);
    await worker.do(id);
    const again = await alice.send(content);
    expect([again.id, again.status?.state]).toEqual([id, TaskState.COMPLETED]);
  }),

  scenario("A2A-44 the same messageId with other content is InvalidParams", async ({ alice, refused }) => {
    const content = message("first");
    await alice.start(content);
    await refused(alice.start({ ...content, parts: [{ text: "second" }] }), "InvalidParams", {
      fields: ["message.messageId"],
    });
  }),

  scenario("A2A-44 FR-18 the same messageId from somebody else is his own task", async ({ alice, bob }) => {
    const content = message("shared id");
    const [hers, his] = await Promise.all([alice.start(content), bob.start(content)]);
    expect(his.id).not.toBe(hers.id);
  }),

  scenario(
    "A2A-39 FR-24 historyLength 0 on send answers no history",
    async ({ alice, has }) => {
      const { message: answer, json } = await alice.call("SendMessage", {
        message: message("no history"),
        configuration: { returnImmediately: true, historyLength: 0 },
      });
      if (answer.payload.case !== "task") throw new Error("no task");
      expect(answer.payload.value.history).toEqual([]);
      if (has("json-answer")) expect(at(json, "task")).not.toHaveProperty("history");
      expect((await alice.get(answer.payload.value.id)).history).toHaveLength(1);
    },
    { except: notInProto03("a historyLength of 0 is none (A2A-170)") },
  ),

  scenario("A2A-72 A2A-39 a negative historyLength on send is InvalidParams", async ({ alice, refused }) => {
    await refused(alice.start("x", { configuration: { historyLength: -1 } }), "InvalidParams", {
      fields: ["configuration.historyLength"],
    });
    expect((await alice.get((await alice.start()).id)).history).toHaveLength(1);
  }),

  scenario("A2A-37 a media type that the card does not list is ContentTypeNotSupported", async (world) => {
    const { alice, refused } = world;
    const parts = [{ raw: "AAAA", mediaType: "application/x-unsupported" }];
    await refused(alice.start(message("", { parts })), "ContentTypeNotSupported");
    if (world.has("list")) expect((await alice.list()).totalSize).toBe(0);
  }),

  scenario("A2A-37 listed media types and parts that name none are accepted", async ({ alice }) => {
    const parts = [
      { text: "plain", mediaType: "text/plain; charset=utf-8" },
      { data: { a: 1 }, mediaType: "application/json" },
      { raw: "AAAA" },
    ];
    expect((await alice.start(message("", { parts }))).status?.state).toBe(TaskState.SUBMITTED);
  }),

  scenario("A2A-37 a media type that only a skill lists is accepted", async ({ peer, refused }) => {
    const client = await peer({ agent: "painter" });
    const parts = [{ raw: "AAAA", mediaType: "image/png", filename: "a.png" }];
    expect((await client.start(message("", { parts }))).id).not.toBe("");
    const video = [{ raw: "AAAA", mediaType: "video/mp4" }];
    await refused(client.start(message("", { parts: video })), "ContentTypeNotSupported");
  }),

  scenario(
    "A2A-38 acceptedOutputModes reach the worker and are never an error",
    async ({ alice, worker }) => {
      const { id } = await alice.start("x", {
        configuration: { acceptedOutputModes: ["image/png", "text/plain"] },
      });
      const { todo } = await worker.client.getTodo({ id });
      expect(todo?.acceptedOutputModes).toEqual(["image/png", "text/plain"]);
    },
  ),

  scenario(
    "A2A-46 referenceTaskIds reach the worker, and ids of others are not resolved",
    async ({ alice, bob, worker }) => {
      const [mine, theirs] = await Promise.all([alice.start(), bob.start()]);
      const referenceTaskIds = [mine.id, theirs.id, "never-was"];
      const task = await alice.start(message("see also", { referenceTaskIds }));
      const { todo } = await worker.client.getTodo({ id: task.id });
      expect(todo?.message?.referenceTaskIds).toEqual(referenceTaskIds);
      expect(task.history).toHaveLength(1);
    },
    { except: notInProto03("a message refers to no other tasks") },
  ),

  scenario("A2A-28 metadata and extensions of a message pass through untouched", async ({ alice }) => {
    const uri = "https://example.com/ext/v1";
    const metadata = { [uri]: { n: 1, deep: { on: true, list: [1, "two", null] } } };
    const { id } = await alice.start(message("ext", { metadata, extensions: [uri] }));
    const [stored] = (await alice.get(id)).history;
    expect(stored?.extensions).toEqual([uri]);
    expect(stored?.metadata).toEqual(metadata);
  }),

  scenario("SB-3 metadata.queue chooses among the granted queues", async ({ peer, worker }) => {
    const client = await peer({ queues: ["default", "deploys"] });
    const { id } = await client.start("ship it", { metadata: { queue: "deploys" } });
    expect((await worker.client.getTodo({ id })).todo?.queue).toBe("deploys");
  }),

  scenario("SB-3 a queue outside the grant is Forbidden and nothing is created", async (world) => {
    const { alice, refused } = world;
    for (const queue of ["deploys", "no-such-queue"]) {
      await refused(alice.start("x", { metadata: { queue } }), "Forbidden");
    }
    if (world.has("list")) expect((await alice.list()).totalSize).toBe(0);
  }),

  scenario(
    "SB-21 A2A-44 metadata.idempotencyKey answers the live task of the key",
    async ({ alice, worker }) => {
      const metadata = { idempotencyKey: randomUUID() };
      const first = await alice.start("keyed", { metadata });
      const second = await alice.start("keyed", { metadata });
      expect(second.id).toBe(first.id);
      await worker.do(first.id);
      expect((await alice.start("keyed", { metadata })).id).not.toBe(first.id);
    },
  ),

  scenario("SB-22 a canceled and a rejected task free their idempotency key", async ({ alice, worker }) => {
    const metadata = { idempotencyKey: randomUUID() };
    const first = await alice.start("keyed", { metadata });
    await alice.cancel(first.id);
    const second = await alice.start("keyed", { metadata });
    expect(second.id).not.toBe(first.id);
    await worker.end(second.id, "rejected");
    expect((await alice.start("keyed", { metadata })).id).not.toBe(second.id);
  }),

  scenario(
    "A2A-115 A2A-117 a status has a timestamp in UTC that does not go back",
    async ({ alice, worker, has }) => {
      const { id } = await alice.start();
      const { message: first, json } = await alice.call("GetTask", { id });
      if (has("json-answer")) {
        expect(at(json, "status", "timestamp")).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
      }
      await worker.do(id);
      const last = await alice.get(id);
      if (first.status?.timestamp === undefined || last.status?.timestamp === undefined)
        throw new Error("no time");
      expect(timestampMs(last.status.timestamp)).toBeGreaterThanOrEqual(timestampMs(first.status.timestamp));
      expect(Math.abs(timestampMs(first.status.timestamp) - Date.now())).toBeLessThan(60_000);
    },
  ),

  scenario(
    "A2A-6 A2A-7 A2A-122 names and enum values of an answer are those of the proto",
    async ({ alice }) => {
      const { json } = await alice.call("SendMessage", {
        message: message("spelling"),
        configuration: { returnImmediately: true },
      });
      expect(at(json, "task", "status", "state")).toBe("TASK_STATE_SUBMITTED");
      expect(at(json, "task", "history", 0, "role")).toBe("ROLE_USER");
      expect(Object.keys(at(json, "task") as object).sort()).toEqual([
        "contextId",
        "history",
        "id",
        "status",
      ]);
    },
    { needs: ["json-answer"], versions: ["1.0"] },
  ),
];
