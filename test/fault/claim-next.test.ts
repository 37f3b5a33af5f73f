/** Workers at two gateways that go on from one todo to the next, while one of the gateways is killed with -9. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { afterEach, beforeEach, expect, it } from "vitest";
import { AttemptOutcome, TodoState } from "../../gen/baton/worker/v1/worker_pb.js";
import { type Mortal, type Pair, startPair } from "./serve.ts";

const TODOS = 400;
const LEASE = durationFromMs(2_000);

let pair: Pair;

beforeEach(async () => {
  pair = await startPair();
});
afterEach(() => pair?.stop());

it("SB-10 SB-24 FR-32 every todo is completed once, and what a lost answer held is given out again", async () => {
  const { first, second } = pair;
  const work = await first.vendor.vendWorker();
  const sender = await second.peer(await first.vendor.vend());
  const ids: string[] = [];
  for (let i = 0; i < TODOS; i += 1) ids.push((await sender.start(`work ${i}`)).id);

  const completed: string[] = [];
  let gone = false;
  /** Until the queue is empty and holds nothing either, or the gateway is gone. */
  const drain = async (gateway: Mortal) => {
    const { client } = gateway.worker(work);
    const claim = { requireFence: true, leaseTtl: LEASE };
    while (completed.length < TODOS) {
      // A claim that waits sees the leases run out that nobody ends.
      let held = await client.claim({ ...claim, wait: durationFromMs(3_000) });
      while (held.todo !== undefined) {
        const { id } = held.todo;
        const { next } = await client.complete({ id, leaseToken: held.leaseToken, claimNext: claim });
        completed.push(id);
        if (next === undefined) throw new Error("the claim was not answered");
        held = next;
      }
      if ((await client.listTodos({ state: TodoState.CLAIMED })).todos.length === 0) return;
    }
  };
  const atFirst = Array.from({ length: 6 }, () =>
    drain(first).catch((error: unknown) => {
      if (!gone) throw error;
    }),
  );
  const atSecond = Array.from({ length: 2 }, () => drain(second));
  while (completed.length < TODOS / 8) await new Promise((resolve) => setTimeout(resolve, 1));
  gone = true;
  await first.kill();
  expect(completed.length, "the kill came amid the completions").toBeLessThan(TODOS);
  await Promise.all([...atFirst, ...atSecond]);

  expect(new Set(completed).size, "no completion was answered twice").toBe(completed.length);
  const { client } = second.worker(work);
  for (const id of ids) {
    const { todo, attempts } = await client.getTodo({ id });
    expect(todo?.state, id).toBe(TodoState.DONE);
    const [last, ...earlier] = attempts;
    expect(last?.outcome).toBe(AttemptOutcome.COMPLETED);
    for (const { outcome } of earlier) expect(outcome).toBe(AttemptOutcome.LEASE_EXPIRED);
  }
}, 60_000);
