/** Claims that wait for work: a ring wakes one of them, and finds the one that it is for. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { ClaimTurns } from "../../src/service/worker/claim-turns.ts";
import { claimWithWait } from "../../src/service/worker/claim-wait.ts";
import type { RedisConnection } from "../../src/store/connection.ts";
import { QueueBells } from "../../src/store/queue-bell.ts";
import type { ClaimResult } from "../../src/store/todo-records.ts";
import { TodoStore } from "../../src/store/todos.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { holder, Rig } from "./rig.ts";

const WAITING = 12;

let server: TestRedis;
let redis: RedisConnection;

beforeAll(async () => {
  server = await startTestRedis();
  redis = await server.connect();
});

afterAll(async () => {
  await server?.stop();
});

/** The real store, which also counts how often it was asked for work. */
class CountingStore extends TodoStore {
  claims = 0;

  override claim(...args: Parameters<TodoStore["claim"]>): Promise<ClaimResult> {
    this.claims += 1;
    return super.claim(...args);
  }
}

/** Workers `w0`, `w1`, ... that wait on one queue, each for one todo. */
async function waiting(rig: Rig, count: number) {
  const todos = new CountingStore(redis, { keepAttempts: 50, taskBytes: 4_000_000 });
  const turns = new ClaimTurns(new QueueBells(redis));
  const leaving = Array.from({ length: count }, () => new AbortController());
  const results = leaving.map(({ signal }, index) =>
    claimWithWait({
      todos,
      turns,
      agent: rig.agent,
      holder: holder(`w${index}`),
      queue: "default",
      ttlMs: 60_000,
      claimant: `w${index}`,
      waitMs: 20_000,
      signal,
    }),
  );
  // Each looks once before it sits down, and once after.
  await expect.poll(() => todos.claims).toBe(2 * count);
  return { todos, leaving, results };
}

async function end({ leaving, results }: Awaited<ReturnType<typeof waiting>>): Promise<ClaimResult[]> {
  for (const each of leaving) each.abort();
  return Promise.all(results);
}

it("SB-73 one todo wakes one of many that wait", async () => {
  const rig = new Rig(redis);
  const line = await waiting(rig, WAITING);
  const before = line.todos.claims;
  await rig.todo();
  const result = await Promise.race(line.results);
  expect(result.kind).toBe("claimed");
  expect(line.todos.claims - before).toBe(1);
  const kinds = (await end(line)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "claimed")).toHaveLength(1);
});

it("as many todos as wait are taken by all of them", async () => {
  const rig = new Rig(redis);
  const line = await waiting(rig, WAITING);
  await Promise.all(Array.from({ length: WAITING }, () => rig.todo()));
  const results = await Promise.all(line.results);
  const ids = results.map((result) => (result.kind === "claimed" ? result.todo.id : result.kind));
  expect(new Set(ids).size).toBe(WAITING);
});

it("SB-12 a todo for one of them finds that one, wherever it stands in the line", async () => {
  const rig = new Rig(redis);
  const line = await waiting(rig, WAITING);
  for (const name of ["w11", "w5", "w0"]) {
    const index = Number(name.slice(1));
    const id = await rig.todo({ assignee: name });
    const result = await line.results[index];
    expect(result).toMatchObject({ kind: "claimed", todo: { id, claimant: name } });
  }
  await end(line);
});

it("a ring for somebody who leaves goes to the next", async () => {
  const rig = new Rig(redis);
  for (let round = 0; round < 20; round += 1) {
    const line = await waiting(rig, 3);
    // The first in line is woken and gone at about the same time.
    const made = rig.todo();
    line.leaving[0]?.abort();
    await made;
    const [gone, ...others] = line.results;
    if ((await gone)?.kind === "empty") expect((await Promise.race(others))?.kind).toBe("claimed");
    await end(line);
  }
});
