/** What BullMQ asks of whoever uses it, and what our adapter does about it. */
import { Worker } from "bullmq";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LaneQueue } from "../../src/push/lane-queue.ts";
import type { RedisConnection } from "../../src/store/connection.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";

let redis: TestRedis;
let store: RedisConnection;

beforeAll(async () => {
  redis = await startTestRedis();
  store = await redis.connect();
});
afterAll(() => redis?.stop());

function queue(run: () => Promise<number | undefined>): LaneQueue {
  return new LaneQueue({
    target: { kind: "socket", path: redis.server.socketPath },
    concurrency: 1,
    leaseMs: 5000,
    run,
    onError: () => {},
  });
}

it("B13 a worker on a default client is refused by BullMQ; ours is given one that it takes", async () => {
  const client = new Redis(redis.server.socketPath);
  expect(() => new Worker("lanes", async () => {}, { connection: client })).toThrow(/maxRetriesPerRequest/);
  client.disconnect();
  let worked = 0;
  const lanes = queue(async () => {
    worked += 1;
    return undefined;
  });
  await lanes.ready();
  await lanes.add("default", [{ ref: "a", gen: 1 }]);
  await expect.poll(() => worked).toBe(1);
  await lanes.close();
});

it("B10 every key of the queue is under one tag, so that no step spans two slots and a board finds all by one prefix", async () => {
  let worked = 0;
  // Delayed, retried and done.
  const lanes = queue(async () => {
    worked += 1;
    return worked === 1 ? 50 : undefined;
  });
  await lanes.ready();
  await lanes.add("one", [{ ref: "b", gen: 1 }]);
  await lanes.add("two", [{ ref: "c", gen: 1 }]);
  await expect.poll(() => worked).toBe(3);
  const keys = ((await store.run("baton:", ["KEYS", "*"])) as Buffer[]).map(String);
  const own = keys.filter((key) => key.includes("lanes"));
  expect(own.length).toBeGreaterThan(1);
  for (const key of keys) expect(key).toMatch(/^\{baton-push\}:lanes:/);
  await lanes.close();
});
