import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agentSays, Reading, type Sender, senderOf, workerOf } from "../client.ts";
import { type Fleet, FULL, SUBMIT, startFleet, WORK } from "./fleet.ts";

const WORKERS = 50;
const TODOS = FULL ? 5000 : 400;
const RACES = FULL ? 1000 : 80;
const SUBSCRIBERS = 20;
const TIMEOUT = FULL ? 600_000 : 90_000;

let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet();
}, 60_000);
afterAll(() => fleet?.stop());

/** Runs `count` jobs, `width` at a time. */
async function spread(count: number, width: number, job: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (;;) {
      const index = next;
      next += 1;
      if (index >= count) return;
      await job(index);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
}

describe("two gateway processes on one Redis", () => {
  it(
    `SB-10 ${WORKERS} workers over ${TODOS} todos: none claimed twice, none lost`,
    async () => {
      const token = await fleet.vend(SUBMIT);
      const senders = fleet.urls.map((url) => senderOf(url, token));
      const sent: string[] = [];
      const filling = spread(TODOS, 16, async (i) => {
        sent.push((await (senders[i % 2] as Sender).send(`work ${i}`)).id);
      });
      const claimed: string[] = [];
      let full = false;
      // They begin while the queue is being filled. Endpoints of their own, so that holders can be told apart.
      const working = Array.from({ length: WORKERS }, async (_, i) => {
        const worker = workerOf(fleet.urls[i % 2] ?? "", await fleet.vend(WORK));
        for (;;) {
          const { todo } = await worker.claim({});
          if (todo === undefined) {
            if (full) return;
            await new Promise((resolve) => setTimeout(resolve, 20));
            continue;
          }
          claimed.push(todo.id);
          expect(todo.attempt).toBe(1);
          await worker.complete({ id: todo.id });
        }
      });
      await filling;
      full = true;
      await Promise.all(working);
      expect(claimed.length).toBe(TODOS);
      expect(new Set(claimed).size).toBe(TODOS);
      expect([...claimed].sort()).toEqual([...sent].sort());
      const completed = await (senders[0] as Sender).client.listTasks({ status: 3, pageSize: 1 });
      expect(completed.totalSize).toBe(TODOS);
      for (const part of ["ready", "leased", "delayed"]) {
        expect(await fleet.rig.run("ZCARD", fleet.rig.key("queue", "default", part))).toBe(0);
      }
    },
    TIMEOUT,
  );

  it(
    `SB-41 ${RACES} races of cancel against complete: one terminal event each, and two coherent answers`,
    async () => {
      const token = await fleet.vend(SUBMIT);
      const work = await fleet.vend(WORK);
      const [near, far] = fleet.urls.map((url) => senderOf(url, token)) as [Sender, Sender];
      const workers = fleet.urls.map((url) => workerOf(url, work));
      const outcomes = new Map<string, number>();
      await spread(RACES, 8, async (i) => {
        const { id } = await near.send(`race ${i}`);
        const worker = workers[i % 2] ?? workerOf(fleet.urls[0], work);
        await worker.claimById({ id });
        const late = i % 7 === 0 ? 1 : 0;
        const [cancel, complete] = await Promise.allSettled([
          far.client.cancelTask({ id }),
          new Promise((resolve) => setTimeout(resolve, late)).then(() => worker.complete({ id })),
        ]);
        const { status } = await near.get(id);
        const state = status?.state;
        const answered = cancel.status === "fulfilled" ? cancel.value.status?.state : undefined;
        // Cancel always succeeds and shows what the task came to (Q4).
        expect(answered).toBe(state);
        if (state === 5) {
          expect(complete.status).toBe("rejected");
          if (complete.status === "rejected") {
            expect(ConnectError.from(complete.reason).code).toBe(Code.Aborted);
          }
        } else {
          expect(state).toBe(3);
          expect(complete.status).toBe("fulfilled");
        }
        outcomes.set(String(state), (outcomes.get(String(state)) ?? 0) + 1);
        const ends = (await fleet.rig.audit(id, 200)).filter(({ to }) => to === "done" || to === "canceled");
        expect(ends).toHaveLength(1);
        expect(await fleet.rig.log(id)).toEqual({ count: 3, last: 3 });
      });
      // Otherwise it was no race.
      expect(outcomes.size).toBe(2);
    },
    TIMEOUT,
  );

  it(
    `SB-45 ${SUBSCRIBERS} subscribers on both see the same events in the same order`,
    async () => {
      const token = await fleet.vend(SUBMIT);
      const [near, far] = fleet.urls.map((url) => senderOf(url, token)) as [Sender, Sender];
      const worker = workerOf(fleet.urls[0], await fleet.vend(WORK));
      const { id } = await near.send("watched");
      const readings = Array.from({ length: SUBSCRIBERS }, (_, i) => {
        const { client } = i % 2 === 0 ? near : far;
        return new Reading((signal) => client.subscribeToTask({ id }, { signal }));
      });
      await Promise.all(readings.map((reading) => reading.until("task SUBMITTED")));
      await worker.claimById({ id });
      for (let i = 0; i < 60; i += 1) {
        const text = `step ${i}`;
        await Promise.all([
          worker.updateStatus({ id, message: agentSays(text) }),
          worker.addArtifact({
            id,
            append: i > 0,
            artifact: { artifactId: "log", parts: [{ content: { case: "text", value: text } }] },
          }),
        ]);
      }
      await worker.complete({ id });
      await Promise.all(readings.map(({ done }) => done));
      for (const { error, seen } of readings) {
        expect(error).toBeUndefined();
        expect(seen).toHaveLength(1 + 1 + 120 + 1);
        expect(seen).toEqual(readings[0]?.seen);
      }
    },
    TIMEOUT,
  );
});
