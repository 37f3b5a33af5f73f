/** CancelTask. */
import { expect } from "vitest";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { message } from "../actors.ts";
import { notInProto03, type Scenario, scenario } from "../scenario.ts";

export const CANCEL: readonly Scenario[] = [
  scenario("A2A-74 SB-38 a submitted task is canceled", async ({ alice }) => {
    const { id } = await alice.start();
    expect((await alice.cancel(id)).status?.state).toBe(TaskState.CANCELED);
    expect((await alice.get(id)).status?.state).toBe(TaskState.CANCELED);
  }),

  scenario(
    "SB-38 SB-40 a working task is canceled and its worker's next call conflicts",
    async ({ alice, worker }) => {
      const { id } = await alice.start();
      await worker.claim(id);
      expect((await alice.cancel(id)).status?.state).toBe(TaskState.CANCELED);
      await expect(worker.complete(id)).rejects.toThrow(/aborted/i);
      expect((await alice.get(id)).status?.state).toBe(TaskState.CANCELED);
      const { todo, attempts } = await worker.client.getTodo({ id });
      expect(todo?.claimant).toBe("");
      expect(todo?.leaseExpiresAt).toBeUndefined();
      expect(attempts).toHaveLength(1);
    },
  ),

  scenario("SB-38 an interrupted task is canceled", async ({ alice, worker }) => {
    for (const interrupt of ["ask", "askAuth"] as const) {
      const { id } = await alice.start();
      await worker.claim(id);
      await worker[interrupt](id, "?");
      expect((await alice.cancel(id)).status?.state).toBe(TaskState.CANCELED);
    }
  }),

  scenario("A2A-76 SB-39 FR-16 a second cancel succeeds and changes nothing", async ({ alice }) => {
    const { id } = await alice.start();
    const first = await alice.cancel(id);
    const second = await alice.cancel(id);
    expect(second.status).toEqual(first.status);
    expect(second.status?.state).toBe(TaskState.CANCELED);
  }),

  scenario("A2A-76 ten cancels at once have the effect of one", async ({ alice }) => {
    const { id } = await alice.start();
    const answers = await Promise.all(Array.from({ length: 10 }, () => alice.cancel(id)));
    for (const { status } of answers) expect(status).toEqual(answers[0]?.status);
  }),

  ...(["completed", "failed", "rejected"] as const).flatMap((how) => [
    scenario(
      `SB-39 A2A-55 cancel of a ${how} task answers it unchanged by default`,
      async ({ alice, worker }) => {
        const { id } = await alice.start();
        await worker.end(id, how);
        const before = await alice.get(id);
        expect((await alice.cancel(id)).status).toEqual(before.status);
        expect(await alice.get(id)).toEqual(before);
      },
    ),
    scenario(`A2A-75 FR-16 on a strict agent cancel of a ${how} task is TaskNotCancelable`, async (world) => {
      const [client, worker] = await Promise.all([
        world.peer({ agent: "strict" }),
        world.workerOf({ agent: "strict" }),
      ]);
      const { id } = await client.start();
      await worker.end(id, how);
      await world.refused(client.cancel(id), "TaskNotCancelable", { metadata: { taskId: id } });
    }),
  ]),

  scenario("A2A-76 on a strict agent a second cancel still succeeds", async ({ peer }) => {
    const client = await peer({ agent: "strict" });
    const { id } = await client.start();
    await client.cancel(id);
    expect((await client.cancel(id)).status?.state).toBe(TaskState.CANCELED);
  }),

  scenario(
    "A2A-10 FR-44 cancel of an unknown or foreign task is TaskNotFound",
    async ({ alice, bob, refused }) => {
      const { id } = await alice.start();
      const foreign = await refused(bob.cancel(id), "TaskNotFound", { metadata: { taskId: id } });
      const unknown = await refused(bob.cancel("never-was"), "TaskNotFound", {
        metadata: { taskId: "never-was" },
      });
      expect(foreign.message).toBe(unknown.message);
      expect((await alice.get(id)).status?.state).toBe(TaskState.SUBMITTED);
    },
  ),

  scenario(
    "A2A-78 SB-38 the reason in the metadata becomes the status message",
    async ({ alice }) => {
      const { id } = await alice.start();
      const task = await alice.cancel(id, { metadata: { reason: "changed my mind", other: [1] } });
      expect(task.status?.message?.parts[0]?.content.value).toBe("changed my mind");
    },
    { except: notInProto03("a request to cancel has no metadata") },
  ),

  scenario("A2A-56 cancel of a blank id is InvalidParams", async ({ alice, refused }) => {
    await refused(alice.cancel("  "), "InvalidParams", { fields: ["id"] });
  }),

  scenario(
    "A2A-77 SB-41 FR-15 cancel and completion racing leave one end that all agree on",
    async (world) => {
      const { alice, worker } = world;
      for (let round = 0; round < 15; round += 1) {
        const watch = await alice.stream(`race ${round}`);
        const { id } = await watch.task();
        await worker.claim(id);
        const [canceled, completed] = await Promise.allSettled([alice.cancel(id), worker.complete(id)]);
        const events = await watch.all();
        const ends = watch.briefs.filter((text) => /COMPLETED|CANCELED/.test(text));
        const stored = (await alice.get(id)).status?.state;
        expect(ends).toEqual([`status ${stored === undefined ? "" : TaskState[stored]}`]);
        expect(events.at(-1)?.payload.case).toBe("statusUpdate");
        if (canceled.status === "fulfilled") expect(canceled.value.status?.state).toBe(stored);
        expect(completed.status).toBe(stored === TaskState.COMPLETED ? "fulfilled" : "rejected");
      }
    },
  ),

  scenario("A2A-55 a canceled task is not started again by its first message", async ({ alice }) => {
    const content = message("once");
    const { id } = await alice.start(content);
    await alice.cancel(id);
    const again = await alice.start(content);
    expect([again.id, again.status?.state]).toEqual([id, TaskState.CANCELED]);
  }),
];
