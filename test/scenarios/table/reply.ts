/** SendMessage to a task that exists. */
import { expect } from "vitest";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { message } from "../actors.ts";
import { type Scenario, scenario, type World } from "../scenario.ts";

/** A task of alice's in INPUT_REQUIRED. */
async function asked({ alice, worker }: World): Promise<{ id: string; contextId: string }> {
  const { id, contextId } = await alice.start("ask me");
  await worker.claim(id);
  await worker.ask(id, "which colour?");
  return { id, contextId };
}

async function ended(
  { alice, worker }: World,
  how: "completed" | "failed" | "rejected" | "canceled",
): Promise<string> {
  const { id } = await alice.start();
  if (how === "canceled") await alice.cancel(id);
  else await worker.end(id, how);
  return id;
}

const onEnded = (["completed", "failed", "rejected", "canceled"] as const).flatMap((how) => [
  scenario(
    `A2A-35 FR-14 SB-32 a message to a ${how} task is UnsupportedOperation and is not stored`,
    async (world) => {
      const { alice, refused } = world;
      const taskId = await ended(world, how);
      const before = await alice.get(taskId);
      await refused(alice.send(message("more", { taskId })), "UnsupportedOperation", {
        metadata: { taskId },
      });
      expect(await alice.get(taskId)).toEqual(before);
    },
  ),
  scenario(
    `A2A-90 A2A-35 FR-14 a streamed message to a ${how} task is UnsupportedOperation`,
    async (world) => {
      const taskId = await ended(world, how);
      await world.refused(world.alice.stream(message("more", { taskId })), "UnsupportedOperation");
    },
  ),
]);

export const REPLY: readonly Scenario[] = [
  ...onEnded,

  scenario(
    "A2A-45 SB-29 FR-21 a reply returns the task to its worker and keeps id and context",
    async (world) => {
      const { alice, worker } = world;
      const { id, contextId } = await asked(world);
      const reply = await alice.start(message("red", { taskId: id }));
      expect(reply).toMatchObject({ id, contextId });
      expect(reply.status?.state).toBe(TaskState.WORKING);
      const { messages } = await worker.client.getMessages({ id });
      expect(messages.at(-1)?.parts[0]?.content.value).toBe("red");
      await worker.complete(id);
      expect((await alice.get(id)).status?.state).toBe(TaskState.COMPLETED);
    },
  ),

  scenario("A2A-45 a reply may come the moment that input is required can be seen", async (world) => {
    const { alice, worker } = world;
    const watch = await alice.stream("quick");
    const { id } = await watch.task();
    await worker.claim(id);
    await Promise.all([worker.ask(id, "now?"), watch.until("status INPUT_REQUIRED")]);
    expect((await alice.start(message("yes", { taskId: id }))).status?.state).toBe(TaskState.WORKING);
  }),

  scenario("A2A-50 with only taskId the context comes from the task", async (world) => {
    const { id, contextId } = await asked(world);
    const task = await world.alice.start(message("x", { taskId: id }));
    expect(task.history.at(-1)?.contextId).toBe(contextId);
  }),

  scenario(
    "A2A-51 SB-32 taskId and contextId that disagree are InvalidParams and nothing is stored",
    async (world) => {
      const { alice, refused } = world;
      const { id } = await asked(world);
      const wrong = message("x", { taskId: id, contextId: "another-context" });
      await refused(alice.send(wrong), "InvalidParams", { fields: ["message.contextId"] });
      const task = await alice.get(id);
      expect(task.status?.state).toBe(TaskState.INPUT_REQUIRED);
      expect(task.history.some(({ messageId }) => messageId === wrong.messageId)).toBe(false);
    },
  ),

  scenario("A2A-51 taskId and contextId that agree are accepted", async (world) => {
    const { id, contextId } = await asked(world);
    expect((await world.alice.start(message("x", { taskId: id, contextId }))).id).toBe(id);
  }),

  scenario("A2A-36 SB-32 a taskId that never was is TaskNotFound and no task is created", async (world) => {
    const { alice, refused } = world;
    const taskId = "chosen-by-client";
    await refused(alice.send(message("x", { taskId })), "TaskNotFound", { metadata: { taskId } });
    await refused(alice.get(taskId), "TaskNotFound");
  }),

  scenario("A2A-98 SB-29 a message is accepted in AUTH_REQUIRED", async ({ alice, worker }) => {
    const { id } = await alice.start();
    await worker.claim(id);
    await worker.askAuth(id, "sign in");
    expect((await alice.start(message("done", { taskId: id }))).status?.state).toBe(TaskState.WORKING);
    await worker.complete(id);
  }),

  scenario(
    "A2A-45 a message to a submitted or working task is kept for the worker",
    async ({ alice, worker }) => {
      const { id } = await alice.start("first");
      const submitted = await alice.start(message("second", { taskId: id }));
      expect(submitted.status?.state).toBe(TaskState.SUBMITTED);
      await worker.claim(id);
      const working = await alice.start(message("third", { taskId: id }));
      expect(working.status?.state).toBe(TaskState.WORKING);
      const { messages } = await worker.client.getMessages({ id });
      expect(messages.map(({ parts }) => parts[0]?.content.value)).toEqual(["first", "second", "third"]);
    },
  ),

  scenario("A2A-44 a repeated reply has the effect of one", async (world) => {
    const { alice } = world;
    const { id } = await asked(world);
    const reply = message("only once", { taskId: id });
    await Promise.all([alice.start(reply), alice.start(reply), alice.start(reply)]);
    const { history } = await alice.get(id);
    expect(history.filter(({ messageId }) => messageId === reply.messageId)).toHaveLength(1);
  }),

  scenario("A2A-44 a reply that reuses a messageId with other content is InvalidParams", async (world) => {
    const { alice, refused } = world;
    const { id } = await asked(world);
    const reply = message("red", { taskId: id });
    await alice.start(reply);
    await refused(alice.start({ ...reply, parts: [{ text: "blue" }] }), "InvalidParams", {
      fields: ["message.messageId"],
    });
  }),

  scenario("A2A-55 SB-29 several rounds of question and answer stay one task", async (world) => {
    const { alice, worker } = world;
    const { id } = await asked(world);
    for (const round of ["a", "b"]) {
      await alice.start(message(round, { taskId: id }));
      await worker.ask(id, `and after ${round}?`);
    }
    await alice.start(message("c", { taskId: id }));
    await worker.complete(id);
    const task = await alice.get(id);
    const said = task.history.map(({ parts }) => parts[0]?.content.value);
    expect(said).toEqual(["ask me", "which colour?", "a", "and after a?", "b", "and after b?", "c"]);
  }),

  scenario("A2A-73 a question that was answered moves into the history, once", async (world) => {
    const { alice } = world;
    const { id } = await asked(world);
    const before = await alice.get(id);
    expect(before.status?.message?.parts[0]?.content.value).toBe("which colour?");
    await alice.start(message("red", { taskId: id }));
    const after = await alice.get(id);
    const ids = [...after.history.map(({ messageId }) => messageId), after.status?.message?.messageId];
    expect(ids.filter((messageId) => messageId === before.status?.message?.messageId)).toHaveLength(1);
  }),

  scenario("SB-6 A2A-45 a blocking reply waits for what follows it", async (world) => {
    const { alice, worker } = world;
    const { id } = await asked(world);
    const waiting = alice.send(message("red", { taskId: id }));
    await new Promise((resolve) => setTimeout(resolve, 100));
    await worker.complete(id, [{ artifactId: "out", parts: [{ text: "red it is" }] }]);
    const task = await waiting;
    expect([task.status?.state, task.artifacts.length]).toEqual([TaskState.COMPLETED, 1]);
  }),

  scenario(
    "A2A-10 FR-44 a reply to somebody else's task is TaskNotFound and changes nothing",
    async (world) => {
      const { alice, bob, refused } = world;
      const { id } = await asked(world);
      const before = await alice.get(id);
      await refused(bob.send(message("mine?", { taskId: id })), "TaskNotFound");
      expect(await alice.get(id)).toEqual(before);
    },
  ),
];
