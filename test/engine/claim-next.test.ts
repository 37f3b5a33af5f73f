import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CompleteRequestSchema, TodoState } from "../../gen/baton/worker/v1/worker_pb.js";
import { SUBMIT_VERBS, WORK_VERBS } from "../../src/domain/caller.ts";
import { workerOf } from "./client.ts";
import { startWorld, type World } from "./world.ts";

let world: World;

beforeAll(async () => {
  world = await startWorld({
    agents: { default: { queues: ["default", "second"] } },
    leases: { defaultSeconds: 300 },
  });
});
afterAll(() => world?.stop());

/** A worker with some verbs on some queues, and what its own endpoint sends. */
async function worker(verbs: readonly string[] = WORK_VERBS, queues: readonly string[] = ["default"]) {
  const { credential } = await world.endpoints.createEndpoint({
    name: "worker",
    scope: { queues: [...queues], verbs: [...new Set([...verbs, ...SUBMIT_VERBS])], streaming: true },
  });
  return workerOf(world.gateway.url, credential);
}

describe("a completion that claims the next todo", () => {
  it("SB-12 gives the oldest todo of the queue, with a lease, a fence and an attempt of its own", async () => {
    const [sender, ann] = [await world.sender(), await worker()];
    const [first, second] = [await sender.send("one"), await sender.send("two")];
    const held = await ann.claim({ requireFence: true });
    expect(held.todo?.id).toBe(first.id);
    const { todo, next } = await ann.complete({
      id: first.id,
      leaseToken: held.leaseToken,
      claimNext: { requireFence: true, claimant: "ann-1", leaseTtl: durationFromMs(60_000) },
    });
    expect(todo).toMatchObject({ id: first.id, state: TodoState.DONE });
    expect(next).toMatchObject({ attemptSeq: 1, todo: { id: second.id, state: TodoState.CLAIMED } });
    expect(next?.todo).toMatchObject({ claimant: "ann-1", attempt: 1 });
    expect(next?.leaseToken).not.toBe("");
    expect(next?.leaseToken).not.toBe(held.leaseToken);
    const left = Number(next?.todo?.leaseExpiresAt?.seconds) - Number(next?.todo?.updatedAt?.seconds);
    expect(left).toBeGreaterThanOrEqual(59);
    expect(left).toBeLessThanOrEqual(61);
    // The fence of the one before is none for this one.
    const old = ann.complete({ id: second.id, leaseToken: held.leaseToken });
    await expect(old).rejects.toMatchObject({ code: Code.Aborted });
    const last = await ann.complete({ id: second.id, leaseToken: next?.leaseToken ?? "", claimNext: {} });
    expect(last.next).toBeDefined();
    expect(last.next?.todo).toBeUndefined();
  });

  it("claims nothing where nothing was asked for", async () => {
    const [sender, ann] = [await world.sender(), await worker()];
    const [first, second] = [await sender.send("one"), await sender.send("two")];
    await ann.claim({});
    expect((await ann.complete({ id: first.id })).next).toBeUndefined();
    expect(await sender.state(second.id)).toBe("SUBMITTED");
    await sender.client.cancelTask({ id: second.id });
  });

  it("SB-13 claims nothing where the completion is refused: another's todo, a wrong fence, an unknown one", async () => {
    const [sender, ann, ben] = [await world.sender(), await worker(), await worker()];
    const [first, second] = [await sender.send("one"), await sender.send("two")];
    const held = await ann.claim({ requireFence: true });
    const aborted = { code: Code.Aborted };
    await expect(ben.complete({ id: first.id, claimNext: {} })).rejects.toMatchObject(aborted);
    await expect(ann.complete({ id: first.id, leaseToken: "x", claimNext: {} })).rejects.toMatchObject(
      aborted,
    );
    const unknown = ann.complete({ id: "td_none", claimNext: {} });
    await expect(unknown).rejects.toMatchObject({ code: Code.NotFound });
    expect(await sender.state(second.id)).toBe("SUBMITTED");
    // A second completion of the same todo neither counts again nor claims.
    await ann.complete({ id: first.id, leaseToken: held.leaseToken });
    const again = ann.complete({ id: first.id, leaseToken: held.leaseToken, claimNext: {} });
    await expect(again).rejects.toMatchObject(aborted);
    expect(await sender.state(second.id)).toBe("SUBMITTED");
    await sender.client.cancelTask({ id: second.id });
  });

  it("SB-3 is refused as a whole where the claim is not granted: the verb, or the queue", async () => {
    const sender = await world.sender();
    const direct = await worker(["claim", "complete", "get_todo"]);
    const { id } = await sender.send("one");
    await direct.claimById({ id });
    const denied = { code: Code.PermissionDenied };
    await expect(direct.complete({ id, claimNext: {} })).rejects.toMatchObject(denied);
    expect(await sender.state(id)).toBe("WORKING");
    await direct.complete({ id });

    const [ann, other] = [await worker(), await sender.send("two")];
    await ann.claim({});
    const elsewhere = ann.complete({ id: other.id, claimNext: { queue: "second" } });
    await expect(elsewhere).rejects.toMatchObject(denied);
    expect(await sender.state(other.id)).toBe("WORKING");
    const both = await worker(WORK_VERBS, ["default", "second"]);
    await ann.release({ id: other.id });
    await both.claim({ queue: "default" });
    const unnamed = both.complete({ id: other.id, claimNext: {} });
    await expect(unnamed).rejects.toMatchObject({ code: Code.InvalidArgument });
    await both.complete({ id: other.id, claimNext: { queue: "second" } });
  });

  it("SB-10 many workers that go on from one to the next: no duplicates, no misses", async () => {
    const sender = await world.sender();
    const ids = await Promise.all(Array.from({ length: 60 }, async () => (await sender.send("x")).id));
    const done: string[] = [];
    const drain = async () => {
      const mine = await worker();
      let { todo } = await mine.claim({});
      while (todo !== undefined) {
        const { id } = todo;
        const { next } = await mine.complete(create(CompleteRequestSchema, { id, claimNext: {} }));
        done.push(id);
        todo = next?.todo;
      }
    };
    await Promise.all(Array.from({ length: 6 }, drain));
    expect(done.toSorted()).toEqual(ids.toSorted());
  });

  it("does not wait for work, whatever it is told", async () => {
    const [sender, ann] = [await world.sender(), await worker()];
    const { id } = await sender.send("one");
    await ann.claim({});
    const begun = performance.now();
    const { next } = await ann.complete({ id, claimNext: { wait: durationFromMs(30_000) } });
    expect(next?.todo).toBeUndefined();
    expect(performance.now() - begun).toBeLessThan(15_000);
  });
});
