/** SubscribeToTask. */
import { expect } from "vitest";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { brief, message } from "../actors.ts";
import { type Scenario, scenario } from "../scenario.ts";

export const SUBSCRIBE: readonly Scenario[] = [
  scenario(
    "A2A-87 SB-44 a subscription begins with the task and brings what is not yet in it",
    async (world) => {
      const { alice, worker } = world;
      const { id } = await alice.start();
      await worker.claim(id);
      await worker.artifact(id, { artifactId: "a", parts: [{ text: "before" }] });
      const watch = await alice.subscribe(id);
      const task = await watch.task();
      expect(task.status?.state).toBe(TaskState.WORKING);
      expect(task.artifacts).toHaveLength(1);
      expect(task.history).toHaveLength(1);
      await worker.artifact(id, { artifactId: "b", parts: [{ text: "after" }] });
      await worker.complete(id);
      await watch.all();
      expect(watch.briefs).toEqual(["task WORKING", "artifact b=1", "status COMPLETED"]);
    },
  ),

  scenario(
    "A2A-87 SB-44 nothing is lost or repeated while events come as it opens",
    async ({ alice, worker }) => {
      const { id } = await alice.start();
      await worker.claim(id);
      const produced = (async () => {
        for (let index = 0; index < 40; index += 1) {
          await worker.artifact(id, { artifactId: "a", parts: [{ text: String(index) }] }, { append: true });
        }
        await worker.complete(id);
      })();
      await new Promise((resolve) => setTimeout(resolve, 5));
      const watches = await Promise.all(Array.from({ length: 4 }, () => alice.subscribe(id)));
      await produced;
      for (const watch of watches) {
        const texts: unknown[] = [];
        for (const { payload } of await watch.all()) {
          if (payload.case === "task") {
            texts.push(
              ...payload.value.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content.value)),
            );
          } else if (payload.case === "artifactUpdate") {
            texts.push(...(payload.value.artifact?.parts ?? []).map(({ content }) => content.value));
          }
        }
        expect(texts).toEqual(Array.from({ length: 40 }, (_, index) => String(index)));
      }
    },
  ),

  scenario(
    "A2A-88 FR-34 an id that never was is TaskNotFound, before any event",
    async ({ alice, refused }) => {
      await refused(alice.subscribe("nope"), "TaskNotFound", { metadata: { taskId: "nope" } });
    },
  ),

  scenario("A2A-10 FR-44 a foreign task is TaskNotFound", async ({ alice, bob, refused }) => {
    const { id } = await alice.start();
    await refused(bob.subscribe(id), "TaskNotFound", { metadata: { taskId: id } });
  }),

  ...(["completed", "failed", "rejected", "canceled"] as const).map((how) =>
    scenario(
      `A2A-88 FR-34 a ${how} task is UnsupportedOperation`,
      async ({ alice, worker, refused }) => {
        const { id } = await alice.start();
        if (how === "canceled") await alice.cancel(id);
        else await worker.end(id, how);
        await refused(alice.subscribe(id), "UnsupportedOperation", { metadata: { taskId: id } });
      },
      { versions: ["1.0"] },
    ),
  ),

  scenario(
    "A2A-89 A2A-100 a task that waits for input may be subscribed and goes on to its end",
    async (world) => {
      const { alice, worker } = world;
      const { id } = await alice.start();
      await worker.claim(id);
      await worker.ask(id, "?");
      const watch = await alice.subscribe(id);
      expect((await watch.task()).status?.state).toBe(TaskState.INPUT_REQUIRED);
      await alice.start(message("!", { taskId: id }));
      await worker.complete(id);
      await watch.all();
      expect(watch.briefs).toEqual(["task INPUT_REQUIRED", "status WORKING", "status COMPLETED"]);
    },
  ),

  scenario(
    "A2A-100 a subscription to a waiting task stays open while nothing happens",
    async ({ alice, worker }) => {
      const { id } = await alice.start();
      await worker.claim(id);
      await worker.ask(id, "?");
      const watch = await alice.subscribe(id);
      await watch.task();
      expect(await watch.isQuiet(300)).toBe(true);
      watch.close();
    },
  ),

  scenario("A2A-100 the next question ends a subscription to a waiting task", async ({ alice, worker }) => {
    const { id } = await alice.start();
    await worker.claim(id);
    await worker.ask(id, "first?");
    const watch = await alice.subscribe(id);
    await watch.task();
    await alice.start(message("!", { taskId: id }));
    await worker.ask(id, "second?");
    await watch.all();
    expect(watch.briefs).toEqual(["task INPUT_REQUIRED", "status WORKING", "status INPUT_REQUIRED"]);
  }),

  scenario("FR-26 A2A-83 a subscription ends within a second of the end", async ({ alice, worker }) => {
    const { id } = await alice.start();
    const watch = await alice.subscribe(id);
    await watch.task();
    await worker.do(id);
    await watch.until("status COMPLETED");
    const before = performance.now();
    expect(await watch.next(1000)).toBeUndefined();
    expect(performance.now() - before).toBeLessThan(1000);
  }),

  scenario(
    "FR-27 A2A-87 a second subscription after the first was left brings the rest",
    async ({ alice, worker }) => {
      const { id } = await alice.start();
      const first = await alice.subscribe(id);
      await first.task();
      first.close();
      await worker.claim(id);
      const second = await alice.subscribe(id);
      expect(
        brief(
          (await second.next()) ??
            (() => {
              throw new Error("no event");
            })(),
        ),
      ).toBe("task WORKING");
      await worker.complete(id);
      await second.all();
      expect(second.briefs.at(-1)).toBe("status COMPLETED");
    },
  ),

  scenario("A2A-86 closing one subscription leaves the others whole", async ({ alice, worker }) => {
    const { id } = await alice.start();
    const [left, kept] = await Promise.all([alice.subscribe(id), alice.subscribe(id)]);
    await Promise.all([left.task(), kept.task()]);
    left.close();
    await worker.do(id, [{ artifactId: "a", parts: [{ text: "x" }] }]);
    await kept.all();
    expect(kept.briefs).toEqual([
      "task SUBMITTED",
      "status WORKING",
      "artifact a=1 last",
      "status COMPLETED",
    ]);
  }),

  scenario("A2A-56 a blank id is InvalidParams on subscribe", async ({ alice, refused }) => {
    await refused(alice.subscribe(" "), "InvalidParams", { fields: ["id"] });
  }),

  scenario("A2A-89 a submitted task may be subscribed", async ({ alice }) => {
    const { id } = await alice.start();
    const watch = await alice.subscribe(id);
    expect((await watch.task()).status?.state).toBe(TaskState.SUBMITTED);
    watch.close();
  }),

  scenario("A2A-91 progress messages are streamed in their status", async ({ alice, worker }) => {
    const { id } = await alice.start();
    await worker.claim(id);
    const watch = await alice.subscribe(id);
    await watch.task();
    await worker.progress(id, "one third");
    const event = await watch.until("status WORKING");
    expect(
      event.payload.case === "statusUpdate" && event.payload.value.status?.message?.parts[0]?.content.value,
    ).toBe("one third");
    watch.close();
  }),
];
