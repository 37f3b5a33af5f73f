/** GetTask: what it shows, to whom, and how much of it. */
import { expect } from "vitest";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { at, message } from "../actors.ts";
import { notInProto03, type Scenario, scenario, type World } from "../scenario.ts";

/** A task whose history is `m1` to `m5`. */
async function fiveMessages({ alice, worker }: World): Promise<string> {
  const { id } = await alice.start("m1");
  await worker.claim(id);
  for (const text of ["m2", "m3", "m4", "m5"]) await alice.start(message(text, { taskId: id }));
  return id;
}

const texts = (history: readonly { parts: readonly { content: { value?: unknown } }[] }[]) =>
  history.map(({ parts }) => parts[0]?.content.value);

export const GET: readonly Scenario[] = [
  scenario("A2A-57 SB-6 GetTask follows the todo through its states", async ({ alice, worker }) => {
    const { id } = await alice.start();
    const state = async () => (await alice.get(id)).status?.state;
    expect(await state()).toBe(TaskState.SUBMITTED);
    await worker.claim(id);
    expect(await state()).toBe(TaskState.WORKING);
    await worker.ask(id, "?");
    expect(await state()).toBe(TaskState.INPUT_REQUIRED);
    await alice.start(message("!", { taskId: id }));
    expect(await state()).toBe(TaskState.WORKING);
    await worker.complete(id);
    expect(await state()).toBe(TaskState.COMPLETED);
  }),

  scenario("A2A-57 GetTask of an id that never was is TaskNotFound", async ({ alice, refused }) => {
    await refused(alice.get("never-was"), "TaskNotFound", { metadata: { taskId: "never-was" } });
  }),

  scenario("A2A-10 SB-33 a foreign task and one that never was are answered alike", async (world) => {
    const { alice, bob, refused } = world;
    const { id } = await alice.start();
    const foreign = await refused(bob.get(id), "TaskNotFound", { metadata: { taskId: id } });
    const unknownId = `td_${"0".repeat(8)}-0000-4000-8000-${"0".repeat(12)}`;
    const unknown = await refused(bob.get(unknownId), "TaskNotFound", { metadata: { taskId: unknownId } });
    expect(foreign.message).toBe(unknown.message);
    expect(foreign.wire).toEqual(unknown.wire);
    expect(foreign.detailTypes).toEqual(unknown.detailTypes);
    expect(Object.keys(foreign.metadata)).toEqual(Object.keys(unknown.metadata));
  }),

  scenario(
    "SB-80 A2A-58 callers of another agent see nothing under any name",
    async ({ alice, peer, refused }) => {
      const { id } = await alice.start();
      const other = await peer({ agent: "second" });
      await refused(other.get(id), "TaskNotFound");
      await refused(other.cancel(id), "TaskNotFound");
      await refused(other.subscribe(id), "TaskNotFound");
    },
  ),

  scenario(
    "A2A-58 on an agent that shares its queue another holder of the queue sees the task",
    async ({ peer }) => {
      const [first, second] = await Promise.all([peer({ agent: "shared" }), peer({ agent: "shared" })]);
      const { id } = await first.start();
      expect((await second.get(id)).id).toBe(id);
    },
  ),

  scenario("A2A-69 SB-34 without historyLength the whole history is answered", async (world) => {
    expect(texts((await world.alice.get(await fiveMessages(world))).history)).toEqual([
      "m1",
      "m2",
      "m3",
      "m4",
      "m5",
    ]);
  }),

  scenario(
    "A2A-70 FR-24 SB-34 historyLength 0 answers none and leaves the key out",
    async (world) => {
      const { alice, has } = world;
      const id = await fiveMessages(world);
      const { message: task, json } = await alice.call("GetTask", { id, historyLength: 0 });
      expect(task.history).toEqual([]);
      if (has("json-answer")) expect(json).not.toHaveProperty("history");
    },
    { except: notInProto03("a historyLength of 0 is none (A2A-170)") },
  ),

  scenario(
    "A2A-71 SB-34 historyLength n answers the n newest, oldest first, and trims nothing",
    async (world) => {
      const { alice } = world;
      const id = await fiveMessages(world);
      expect(texts((await alice.get(id, { historyLength: 2 })).history)).toEqual(["m4", "m5"]);
      expect(texts((await alice.get(id, { historyLength: 1 })).history)).toEqual(["m5"]);
      expect((await alice.get(id, { historyLength: 50 })).history).toHaveLength(5);
      expect((await alice.get(id)).history).toHaveLength(5);
    },
  ),

  scenario("A2A-72 a negative historyLength is InvalidParams", async ({ alice, refused }) => {
    const { id } = await alice.start();
    await refused(alice.get(id, { historyLength: -1 }), "InvalidParams", { fields: ["historyLength"] });
  }),

  scenario(
    "A2A-57 A2A-93 FR-10 artifacts are merged by id, with parts in order",
    async ({ alice, worker }) => {
      const { id } = await alice.start();
      await worker.claim(id);
      await worker.artifact(id, { artifactId: "a", name: "A", parts: [{ text: "1" }] });
      await worker.artifact(id, { artifactId: "b", parts: [{ text: "x" }] }, { lastChunk: true });
      await worker.artifact(id, { artifactId: "a", parts: [{ text: "2" }] }, { append: true });
      await worker.artifact(
        id,
        { artifactId: "a", parts: [{ text: "3" }] },
        { append: true, lastChunk: true },
      );
      const { artifacts } = await alice.get(id);
      expect(
        artifacts.map(({ artifactId, parts }) => [artifactId, texts([{ parts }]).length, parts.length]),
      ).toEqual([
        ["a", 1, 3],
        ["b", 1, 1],
      ]);
      expect(artifacts[0]?.parts.map(({ content }) => content.value)).toEqual(["1", "2", "3"]);
      expect(artifacts[0]?.name).toBe("A");
    },
  ),

  scenario("A2A-93 an artifact without append replaces the one of that id", async ({ alice, worker }) => {
    const { id } = await alice.start();
    await worker.claim(id);
    await worker.artifact(id, { artifactId: "a", parts: [{ text: "old" }, { text: "older" }] });
    await worker.artifact(id, { artifactId: "a", parts: [{ text: "new" }] });
    const { artifacts } = await alice.get(id);
    expect(artifacts.map(({ parts }) => parts.map(({ content }) => content.value))).toEqual([["new"]]);
  }),

  scenario("A2A-93 append to an unknown artifact creates it", async ({ alice, worker }) => {
    const { id } = await alice.start();
    await worker.claim(id);
    await worker.artifact(id, { artifactId: "n", parts: [{ text: "1" }] }, { append: true });
    expect((await alice.get(id)).artifacts).toHaveLength(1);
  }),

  scenario(
    "A2A-94 artifact ids are unique in a task when the worker names none",
    async ({ alice, worker }) => {
      const { id } = await alice.start();
      await worker.claim(id);
      await worker.artifact(id, { artifactId: "", parts: [{ text: "1" }] });
      await worker.artifact(id, { artifactId: "", parts: [{ text: "2" }] });
      const ids = (await alice.get(id)).artifacts.map(({ artifactId }) => artifactId);
      expect(new Set(ids).size).toBe(2);
      expect(ids).not.toContain("");
    },
  ),

  scenario("SB-30 A2A-96 the worker's question stands in the status message", async ({ alice, worker }) => {
    const { id } = await alice.start();
    await worker.claim(id);
    await worker.askAuth(id, "grant access to the calendar");
    const { status } = await alice.get(id);
    expect(status?.state).toBe(TaskState.AUTH_REQUIRED);
    expect(status?.message?.parts[0]?.content.value).toBe("grant access to the calendar");
    expect(status?.message).toMatchObject({ taskId: id });
  }),

  scenario("SB-33 GetTask changes nothing", async ({ alice }) => {
    const { id } = await alice.start();
    const first = await alice.get(id);
    await alice.get(id, { historyLength: 0 });
    expect(await alice.get(id)).toEqual(first);
  }),

  scenario("A2A-118 output stands in artifacts and not among the messages", async ({ alice, worker }) => {
    const { id } = await alice.start("question");
    await worker.do(id, [{ artifactId: "answer", parts: [{ text: "42" }] }]);
    const task = await alice.get(id);
    expect(texts(task.history)).toEqual(["question"]);
    expect(task.status?.message).toBeUndefined();
    expect(task.artifacts[0]?.parts[0]?.content.value).toBe("42");
  }),

  scenario("A2A-99 a task in AUTH_REQUIRED opens nothing to anybody", async (world) => {
    const { alice, bob, worker, refused } = world;
    const { id } = await alice.start();
    await worker.claim(id);
    await worker.askAuth(id, "sign in");
    for (const call of [
      () => bob.get(id),
      () => bob.cancel(id),
      () => bob.send(message("me", { taskId: id })),
      () => bob.subscribe(id),
    ]) {
      await refused(call(), "TaskNotFound");
    }
    expect((await alice.get(id)).status?.state, "nothing goes on by itself").toBe(TaskState.AUTH_REQUIRED);
  }),

  scenario(
    "A2A-12 A2A-157 SB-55 details have their types, and metadata of texts only",
    async ({ alice, refused }) => {
      const missing = await refused(alice.get("never-was"), "TaskNotFound");
      expect(missing.detailTypes).toEqual(["google.rpc.ErrorInfo"]);
      for (const value of Object.values(missing.metadata)) expect(typeof value).toBe("string");
      const invalid = await refused(alice.get(" "), "InvalidParams");
      expect(invalid.detailTypes).toContain("google.rpc.BadRequest");
    },
    { needs: ["error-data"] },
  ),

  scenario("A2A-56 a blank id is InvalidParams", async ({ alice, refused }) => {
    for (const id of ["   ", "\t"]) await refused(alice.get(id), "InvalidParams", { fields: ["id"] });
  }),

  scenario(
    "A2A-3 an empty id is InvalidParams",
    async ({ alice, refused }) => {
      await refused(alice.get(""), "InvalidParams", { fields: ["id"] });
    },
    { needs: ["empty-id"] },
  ),

  scenario(
    "A2A-56 ids are opaque: odd characters reach the look-up as they are",
    async ({ alice, refused }) => {
      for (const id of ["a/b", "x:subscribe", "a b", "ü%2F", "..a", "?x=1#y", "a\u0000b"]) {
        await refused(alice.get(id), "TaskNotFound", { metadata: { taskId: id } });
      }
    },
  ),

  scenario(
    "SB-16 A2A-57 a failure with attempts left is submitted again, without an end",
    async ({ alice, worker }) => {
      const { id } = await alice.start();
      await worker.claim(id);
      await worker.fail(id, "try again", { permanent: false });
      expect((await alice.get(id)).status?.state).toBe(TaskState.SUBMITTED);
    },
  ),

  scenario(
    "A2A-57 the reason of a failure and of a rejection stands in the status message",
    async ({ alice, worker }) => {
      for (const [how, state, text] of [
        ["failed", TaskState.FAILED, "it broke"],
        ["rejected", TaskState.REJECTED, "not for us"],
      ] as const) {
        const { id } = await alice.start();
        await worker.end(id, how);
        const { status } = await alice.get(id);
        expect([status?.state, status?.message?.parts[0]?.content.value]).toEqual([state, text]);
      }
    },
  ),

  scenario(
    "A2A-122 a task as JSON has no key beyond the schema",
    async ({ alice, worker }) => {
      const { id } = await alice.start();
      const keys = async (...path: string[]) =>
        Object.keys(at((await alice.call("GetTask", { id })).json, ...path) as object).sort();
      expect(await keys()).toEqual(["contextId", "history", "id", "status"]);
      expect(await keys("status")).toEqual(["state", "timestamp"]);
      await worker.claim(id);
      await worker.ask(id, "?");
      expect(await keys()).toEqual(["contextId", "history", "id", "metadata", "status"]);
      expect(await keys("status")).toEqual(["message", "state", "timestamp"]);
      expect(await keys("metadata")).toEqual(["baton"]);
    },
    { needs: ["json-answer"], versions: ["1.0"] },
  ),
];
