import { createHash } from "node:crypto";
import { durationFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TodoState } from "../../gen/baton/worker/v1/worker_pb.js";
import { SUBMIT_VERBS, WORK_VERBS } from "../../src/domain/caller.ts";
import { runCli } from "../cli/processes.ts";
import { agentSays, stateName, textOf, workerOf } from "./client.ts";
import { startWorld, type World } from "./world.ts";

let world: World;

beforeAll(async () => {
  world = await startWorld({
    agents: {
      default: { queues: ["default", "small"] },
      picky: { intake: { maxPayloadBytes: 400, deniedKinds: ["deploy"] } },
      strict: { intake: { kinds: ["report"] } },
    },
    leases: { defaultSeconds: 300 },
    retries: { maxAttempts: 2, baseSeconds: 0.05, capSeconds: 0.05 },
  });
});
afterAll(() => world?.stop());

/** An endpoint that may do everything, with or without a default lease. */
async function workerWithLease(seconds?: number) {
  const { credential, endpoint } = await world.endpoints.createEndpoint({
    name: "leaser",
    scope: { queues: ["default"], verbs: [...WORK_VERBS, ...SUBMIT_VERBS], streaming: true },
    ...(seconds === undefined ? {} : { defaultLease: durationFromMs(seconds * 1000) }),
  });
  return { worker: workerOf(world.gateway.url, credential), id: endpoint?.id ?? "" };
}

const UNTIL = { fenceless: 1000 };

function leaseLeft(
  todo: { leaseExpiresAt?: { seconds: bigint; nanos: number } | undefined } | undefined,
): number {
  if (todo?.leaseExpiresAt === undefined) throw new Error("no lease");
  return timestampMs(todo.leaseExpiresAt as never) - Date.now();
}

function about(ms: number, expected: number): void {
  expect(ms).toBeGreaterThan(expected - UNTIL.fenceless * 5);
  expect(ms).toBeLessThanOrEqual(expected + UNTIL.fenceless);
}

describe("todos through the gateway", () => {
  it("SB-4 a send answers a submitted task whose id is the todo's, for GetTask and for the worker's list", async () => {
    const sender = await world.sender();
    const worker = await world.worker();
    const task = await sender.send("hello");
    expect(stateName(task.status?.state)).toBe("SUBMITTED");
    expect((await sender.get(task.id)).id).toBe(task.id);
    const { todos } = await worker.listTodos({});
    expect(todos.find(({ id }) => id === task.id)?.state).toBe(TodoState.PENDING);
    await sender.client.cancelTask({ id: task.id });
  });

  it("SB-8 a payload over the policy, and a kind that it denies, are rejected tasks with the reason, and nobody's work", async () => {
    const sender = await world.sender({ agent: "picky" });
    const worker = await world.worker({ agent: "picky" });
    const large = await sender.send("x".repeat(500));
    const denied = await sender.send("go", { metadata: { kind: "deploy" } });
    for (const [task, reason] of [
      [large, /at most 400/],
      [denied, /kind deploy/],
    ] as const) {
      expect(stateName(task.status?.state)).toBe("REJECTED");
      expect(textOf(task.status?.message)).toMatch(reason);
      expect(await sender.state(task.id)).toBe("REJECTED");
      await expect(worker.claimById({ id: task.id })).rejects.toMatchObject({
        code: Code.Aborted,
      });
      await expect(world.todos.retryTodo({ agent: "picky", id: task.id })).rejects.toMatchObject({
        code: Code.Aborted,
      });
      expect((await worker.getTodo({ id: task.id })).todo?.attempt).toBe(0);
    }
    expect((await worker.claim({})).todo).toBeUndefined();
    const fine = await sender.send("small", { metadata: { kind: "report" } });
    expect((await worker.claim({})).todo).toMatchObject({ id: fine.id, kind: "report" });
  });

  it("SB-8 where only some kinds are taken, any other and none at all are rejected", async () => {
    const sender = await world.sender({ agent: "strict" });
    const states: string[] = [];
    for (const metadata of [{ kind: "report" }, { kind: "other" }, {}]) {
      states.push(stateName((await sender.send("x", { metadata })).status?.state));
    }
    expect(states).toEqual(["SUBMITTED", "REJECTED", "REJECTED"]);
  });

  it("SB-12 metadata.assignee pins a todo to the worker endpoint of that name", async () => {
    const sender = await world.sender();
    const other = await world.worker({ name: "somebody" });
    const named = await world.worker({ name: "specialist" });
    const task = await sender.send("for you", { metadata: { assignee: "specialist" } });
    expect((await other.claim({ queue: "default" })).todo).toBeUndefined();
    await expect(other.claimById({ id: task.id })).rejects.toMatchObject({ code: Code.Aborted });
    const { todo } = await named.claim({ queue: "default" });
    expect(todo).toMatchObject({ id: task.id, assignee: "specialist" });
    await named.complete({ id: task.id });
  });

  it.each([
    ["kind", 7],
    ["kind", ""],
    ["assignee", "a\nb"],
    ["assignee", "é".repeat(65)],
  ])("SB-12 metadata.%s of %j is refused and creates nothing", async (name, value) => {
    const sender = await world.sender();
    await expect(sender.send("x", { metadata: { [name]: value } })).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
    expect((await sender.client.listTasks({})).totalSize).toBe(0);
  });

  it("SB-14 SB-15 the lease is the call's, else the endpoint's, else the server's, for claims and heartbeats", async () => {
    const sender = await world.sender();
    const plain = await workerWithLease();
    const leaser = await workerWithLease(3600);
    const expected = [
      [plain.worker, undefined, 300],
      [leaser.worker, undefined, 3600],
      [leaser.worker, 90, 90],
      [leaser.worker, 999_999, 86_400],
      [leaser.worker, 0, 3600],
      [leaser.worker, -5, 3600],
    ] as const;
    for (const [worker, asked, seconds] of expected) {
      const leaseTtl = asked === undefined ? {} : { leaseTtl: durationFromMs(asked * 1000) };
      const { id } = await sender.send("lease");
      about(leaseLeft((await worker.claimById({ id, ...leaseTtl })).todo), seconds * 1000);
      await worker.heartbeat({ id, leaseTtl: durationFromMs(1000) });
      about(leaseLeft((await worker.heartbeat({ id, ...leaseTtl })).todo), seconds * 1000);
      await worker.complete({ id });
    }
    // Read on every call: a change of the endpoint shows in the next heartbeat.
    const { id } = await sender.send("lease");
    await leaser.worker.claimById({ id });
    await world.endpoints.updateEndpoint({ id: leaser.id, defaultLease: durationFromMs(120_000) });
    about(leaseLeft((await leaser.worker.heartbeat({ id })).todo), 120_000);
    await leaser.worker.complete({ id });
  });

  it.each([59, 86_401])(
    "SB-14 %i s as default lease of an endpoint is refused, not clamped",
    async (seconds) => {
      await expect(workerWithLease(seconds)).rejects.toMatchObject({ code: Code.InvalidArgument });
      const { id } = await workerWithLease(60);
      const change = { id, defaultLease: durationFromMs(seconds * 1000) };
      await expect(world.endpoints.updateEndpoint(change)).rejects.toMatchObject({
        code: Code.InvalidArgument,
      });
    },
  );

  it("SB-19 an operator lists the dead and retries one; that is audited in the operator's name", async () => {
    const sender = await world.sender();
    const worker = await world.worker();
    const task = await sender.send("twice", { metadata: { kind: "chore" } });
    for (let i = 0; i < 2; i += 1) {
      await claimSoon(worker, task.id);
      const { deadLetter } = await worker.fail({ id: task.id, message: agentSays(`broke ${i}`) });
      expect(deadLetter).toBe(i === 1);
    }
    expect(await sender.state(task.id)).toBe("FAILED");
    const { todos } = await world.todos.listDeadTodos({});
    expect(todos[0]).toMatchObject({
      id: task.id,
      reason: "broke 1",
      attempts: 2,
      title: "twice",
      kind: "chore",
    });
    expect(await world.todos.retryTodo({ id: task.id })).toMatchObject({ id: task.id, queue: "default" });
    expect(await sender.state(task.id)).toBe("SUBMITTED");
    expect((await worker.claimById({ id: task.id })).todo).toMatchObject({ attempt: 1 });
    expect((await worker.getTodo({ id: task.id })).attempts.map(({ seq }) => seq)).toEqual([3, 2, 1]);
    const entry = (await world.rig.audit(task.id)).find(({ event }) => event === "retry");
    expect(entry?.actor).toMatch(/admin|operator/);
    await worker.complete({ id: task.id });
  });

  it("SB-19 the command line lists and retries dead todos", async () => {
    const sender = await world.sender();
    const worker = await world.worker();
    const { id } = await sender.send("by hand");
    await worker.claimById({ id });
    await worker.fail({ id, permanent: true, message: agentSays("no luck") });
    const env = { BATON_ADMIN_URL: world.gateway.adminUrl, BATON_ADMIN_TOKEN: world.gateway.adminToken };
    const baton = async (...args: string[]) => runCli(["todo", ...args], { env });
    const dead = await baton("dead", "--json", "--limit", "1");
    expect(JSON.parse(dead.stdout)).toMatchObject({ todos: [{ id, reason: "no luck", title: "by hand" }] });
    expect((await baton("dead")).stdout).toContain(id);
    const retried = await baton("retry", id);
    expect(retried).toMatchObject({ code: 0, stdout: expect.stringContaining("queue default") });
    expect(await sender.state(id)).toBe("SUBMITTED");
    const again = await baton("retry", id);
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(/only a todo that failed/);
    await sender.client.cancelTask({ id });
  });

  it("SB-19 only a dead todo can be retried, and callers have no such call", async () => {
    const sender = await world.sender();
    const { id } = await sender.send("alive");
    await expect(world.todos.retryTodo({ id })).rejects.toMatchObject({ code: Code.Aborted });
    await expect(world.todos.retryTodo({ id: "td_never" })).rejects.toMatchObject({ code: Code.NotFound });
    await expect(world.todos.listDeadTodos({ agent: "nobody" })).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
    await expect(world.todos.listDeadTodos({ limit: 501 })).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
    await sender.client.cancelTask({ id });
  });

  it("SB-25 a fenced claim shows its token once; only the hash is stored, and no read shows it", async () => {
    const sender = await world.sender();
    const worker = await world.worker();
    const { id } = await sender.send("fenced");
    const { leaseToken } = await worker.claimById({ id, requireFence: true });
    expect(leaseToken).toMatch(/^[\w-]{22}$/);
    const hash = createHash("sha256").update(leaseToken).digest("hex");
    expect(await world.rig.field(id, "fence")).toBe(hash);
    const shown = JSON.stringify(await worker.getTodo({ id }), (_, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    expect(shown).not.toContain(leaseToken);
    expect(shown).not.toContain(hash);
    await expect(worker.complete({ id })).rejects.toMatchObject({ code: Code.Aborted });
    await expect(worker.complete({ id, leaseToken: "A".repeat(22) })).rejects.toMatchObject({
      code: Code.Aborted,
    });
    await worker.complete({ id, leaseToken });
  });

  it("SB-24 summaries are cut at 2048 bytes on a character, artifact references are checked", async () => {
    const sender = await world.sender();
    const worker = await world.worker();
    const { id } = await sender.send("sum it up");
    await worker.claimById({ id, claimant: `robot\u0007${"é".repeat(100)}` });
    for (const artifact of ["http://example.com/x", "ftp://x", `https://example.com/${"x".repeat(500)}`]) {
      await expect(worker.complete({ id, artifact })).rejects.toMatchObject({ code: Code.InvalidArgument });
    }
    await worker.complete({ id, summary: `a${"é".repeat(2000)}`, artifact: "https://example.com/run/7" });
    const [attempt] = (await worker.getTodo({ id })).attempts;
    expect(Buffer.byteLength(attempt?.summary ?? "")).toBe(2047);
    expect(attempt).toMatchObject({ summaryTruncated: true, artifact: "https://example.com/run/7" });
    expect(attempt?.claimant).toBe(`robot${"é".repeat(61)}`);
  });

  it("SB-27 revoking the sender ends its open tasks, and the worker's next call conflicts", async () => {
    const token = await world.gateway.vend();
    const { senderOf } = await import("./client.ts");
    const sender = senderOf(world.gateway.url, token);
    const worker = await world.worker();
    const { id } = await sender.send("doomed");
    await worker.claimById({ id });
    await world.gateway.revoke(token);
    await expect(worker.complete({ id })).rejects.toMatchObject({ code: Code.Aborted });
    expect((await worker.getTodo({ id })).todo?.state).toBe(TodoState.FAILED);
    expect((await world.todos.listDeadTodos({})).todos[0]).toMatchObject({ id, reason: "endpoint_revoked" });
  });
});

/** Claims one todo as soon as its time has come. */
async function claimSoon(worker: Awaited<ReturnType<World["worker"]>>, id: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      await worker.claimById({ id });
      return;
    } catch (error) {
      if (tries > 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
