/** SendStreamingMessage. */
import { expect } from "vitest";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { message } from "../actors.ts";
import { type Scenario, scenario } from "../scenario.ts";

export const STREAM: readonly Scenario[] = [
  scenario(
    "A2A-82 A2A-83 A2A-84 SB-42 a stream brings the task, every change in order, then ends",
    async (world) => {
      const { alice, worker } = world;
      const watch = await alice.stream("stream me");
      const { id } = await watch.task();
      await worker.claim(id);
      await worker.progress(id, "half way");
      await worker.artifact(id, { artifactId: "a", parts: [{ text: "1" }] });
      await worker.artifact(
        id,
        { artifactId: "a", parts: [{ text: "2" }] },
        { append: true, lastChunk: true },
      );
      await worker.complete(id);
      await watch.all();
      expect(watch.briefs).toEqual([
        "task SUBMITTED",
        "status WORKING",
        "status WORKING",
        "artifact a=1",
        "artifact a+1 last",
        "status COMPLETED",
      ]);
    },
  ),

  ...(["completed", "failed", "rejected"] as const).map((how) =>
    scenario(`A2A-83 SB-43 a stream ends right after ${how}`, async ({ alice, worker }) => {
      const watch = await alice.stream();
      const { id } = await watch.task();
      await worker.end(id, how);
      await watch.all();
      expect(watch.briefs.at(-1)).toBe(`status ${how.toUpperCase()}`);
    }),
  ),

  scenario("A2A-83 SB-43 a stream ends right after a cancel, without an error", async ({ alice }) => {
    const watch = await alice.stream();
    const { id } = await watch.task();
    await alice.cancel(id);
    await watch.all();
    expect(watch.briefs).toEqual(["task SUBMITTED", "status CANCELED"]);
  }),

  scenario("A2A-92 each event has the ids of its task and context", async ({ alice, worker }) => {
    const watch = await alice.stream();
    const { id, contextId } = await watch.task();
    await worker.do(id, [{ artifactId: "a", parts: [{ text: "x" }] }]);
    const [, ...events] = await watch.all();
    expect(events.length).toBeGreaterThanOrEqual(3);
    for (const { payload } of events) {
      expect(payload.value).toMatchObject({ taskId: id, contextId });
      if (payload.case === "statusUpdate") expect(payload.value.status?.timestamp).toBeDefined();
      if (payload.case === "artifactUpdate") expect(payload.value.artifact?.parts.length).toBeGreaterThan(0);
    }
  }),

  scenario(
    "A2A-91 A2A-100 FR-29 a stream brings INPUT_REQUIRED with its question and ends cleanly",
    async (world) => {
      const { alice, worker } = world;
      const watch = await alice.stream("ask");
      const { id } = await watch.task();
      await worker.claim(id);
      await worker.ask(id, "which one?");
      const events = await watch.all();
      expect(watch.briefs.at(-1)).toBe("status INPUT_REQUIRED");
      const last = events.at(-1)?.payload;
      expect(last?.case === "statusUpdate" && last.value.status?.message?.parts[0]?.content.value).toBe(
        "which one?",
      );
    },
  ),

  scenario("A2A-45 A2A-100 a streamed reply goes on to the end", async ({ alice, worker }) => {
    const first = await alice.stream("ask");
    const { id } = await first.task();
    await worker.claim(id);
    await worker.ask(id, "which one?");
    await first.all();
    const second = await alice.stream(message("that one", { taskId: id }));
    expect((await second.task()).id).toBe(id);
    await worker.complete(id);
    await second.all();
    expect(second.briefs.at(-1)).toBe("status COMPLETED");
  }),

  scenario("A2A-97 A2A-100 a stream stays open in AUTH_REQUIRED and goes on", async ({ alice, worker }) => {
    const watch = await alice.stream();
    const { id } = await watch.task();
    await worker.claim(id);
    await worker.askAuth(id, "sign in");
    await watch.until("status AUTH_REQUIRED");
    await alice.start(message("signed in", { taskId: id }));
    await worker.complete(id);
    await watch.all();
    expect(watch.briefs.slice(-3)).toEqual(["status AUTH_REQUIRED", "status WORKING", "status COMPLETED"]);
  }),

  scenario("SB-50 a failure with attempts left does not end the stream", async ({ alice, worker }) => {
    const watch = await alice.stream();
    const { id } = await watch.task();
    await worker.claim(id);
    await worker.fail(id, "again", { permanent: false });
    await watch.until("status SUBMITTED");
    await expect
      .poll(
        () =>
          worker.claim(id).then(
            () => true,
            () => false,
          ),
        { timeout: 5000 },
      )
      .toBe(true);
    await worker.complete(id);
    await watch.all();
    expect(watch.briefs.at(-1)).toBe("status COMPLETED");
  }),

  scenario("A2A-44 a retry of a streamed send joins the task that it started", async ({ alice, worker }) => {
    const content = message("stream once");
    const first = await alice.stream(content);
    const { id } = await first.task();
    await worker.claim(id);
    const second = await alice.stream(content);
    const task = await second.task();
    expect([task.id, task.status?.state]).toEqual([id, TaskState.WORKING]);
    await worker.complete(id);
    await Promise.all([first.all(), second.all()]);
    expect(second.briefs.at(-1)).toBe("status COMPLETED");
  }),

  scenario(
    "A2A-44 A2A-83 a retry of a streamed send after the end brings the task and ends",
    async ({ alice, worker }) => {
      const content = message("too late");
      const { id } = await alice.start(content);
      await worker.do(id);
      const watch = await alice.stream(content);
      await watch.all();
      expect(watch.briefs).toEqual(["task COMPLETED"]);
    },
  ),

  scenario("A2A-86 FR-30 a client that leaves does not stop the work", async ({ alice, worker }) => {
    const watch = await alice.stream();
    const { id } = await watch.task();
    watch.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await worker.do(id, [{ artifactId: "a", parts: [{ text: "still done" }] }]);
    const task = await alice.get(id);
    expect([task.status?.state, task.artifacts.length]).toEqual([TaskState.COMPLETED, 1]);
  }),

  scenario(
    "A2A-86 FR-30 a client that leaves a blocking send does not stop the work",
    async ({ alice, worker }) => {
      const content = message("blocking and gone");
      const { id } = await alice.start(content);
      const controller = new AbortController();
      const waiting = alice.with({ signal: controller.signal }).send(content);
      await new Promise((resolve) => setTimeout(resolve, 50));
      controller.abort();
      await expect(waiting).rejects.toThrow();
      await worker.do(id);
      expect((await alice.get(id)).status?.state).toBe(TaskState.COMPLETED);
    },
  ),

  scenario("SB-46 A2A-79 an endpoint without streaming is UnsupportedOperation", async (world) => {
    const { peer, refused, gateway } = world;
    const client = await peer({ streaming: false });
    const { id } = await client.start();
    const open = gateway.openStreams;
    await refused(client.stream(), "UnsupportedOperation");
    await refused(client.subscribe(id), "UnsupportedOperation");
    expect(gateway.openStreams).toBe(open);
  }),

  scenario("SB-48 A2A-86 a stream that its client leaves is unregistered", async ({ alice, gateway }) => {
    const before = gateway.openStreams;
    const watch = await alice.stream();
    await watch.task();
    expect(gateway.openStreams).toBe(before + 1);
    watch.close();
    await expect.poll(() => gateway.openStreams, { timeout: 3000 }).toBe(before);
  }),

  scenario(
    "SB-47 the ninth stream of an endpoint is refused, and closing one frees a place",
    async (world) => {
      const { alice, bob, refused } = world;
      const watches = await Promise.all(Array.from({ length: 8 }, () => alice.stream()));
      await refused(alice.stream(), "RateLimited");
      const other = await bob.stream();
      other.close();
      watches[0]?.close();
      const another = async () => {
        try {
          watches.push(await alice.stream());
          return true;
        } catch {
          return false;
        }
      };
      await expect.poll(another, { timeout: 5000 }).toBe(true);
      for (const watch of watches) watch.close();
    },
  ),

  scenario("A2A-90 a streamed send has the input rules of SendMessage", async ({ alice, refused }) => {
    await refused(alice.stream(message("", { parts: [] })), "InvalidParams", { fields: ["message.parts"] });
    await refused(alice.stream(message("x", { messageId: " " })), "InvalidParams", {
      fields: ["message.messageId"],
    });
    await refused(alice.stream(message("x", { taskId: "never-was" })), "TaskNotFound");
    const parts = [{ raw: "AAAA", mediaType: "application/x-unsupported" }];
    await refused(alice.stream(message("", { parts })), "ContentTypeNotSupported");
  }),

  scenario("A2A-33 returnImmediately changes nothing for a stream", async ({ alice, worker }) => {
    const watch = await alice.stream("x", { configuration: { returnImmediately: true } });
    const { id } = await watch.task();
    await worker.do(id);
    await watch.all();
    expect(watch.briefs.at(-1)).toBe("status COMPLETED");
  }),

  scenario(
    "A2A-85 SB-45 two streams of one task see the same events in the same order",
    async ({ alice, worker }) => {
      const first = await alice.stream();
      const { id } = await first.task();
      const second = await alice.subscribe(id);
      await second.task();
      await worker.claim(id);
      for (let index = 0; index < 20; index += 1) {
        await worker.artifact(id, { artifactId: "a", parts: [{ text: String(index) }] }, { append: true });
      }
      await worker.complete(id);
      const [one, two] = await Promise.all([first.all(), second.all()]);
      expect(two.slice(1)).toEqual(one.slice(1));
      expect(one).toHaveLength(1 + 1 + 20 + 1);
    },
  ),
];
