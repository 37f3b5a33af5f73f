/** A master that is there and answers nothing, and for which nobody takes over. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { connectRedis } from "../../src/store/connect-redis.ts";
import { keySlot } from "../../src/store/key-slot.ts";
import { Servers, startCluster, type TestCluster } from "./servers.ts";

const servers = new Servers();
let cluster: TestCluster;
let pid: number;

beforeAll(async () => {
  cluster = await startCluster(servers);
  const master = cluster.masters[1];
  pid = Number(/process_id:(\d+)/.exec(String(await master?.ask("INFO", "server")))?.[1]);
}, 60_000);
afterEach(() => process.kill(pid, "SIGCONT"));
afterAll(() => servers.stop());

/** Of the second master, which has no replica. */
const TAG = Array.from({ length: 100 }, (_, n) => `{k${n}}`).find((tag) => {
  const slot = keySlot(tag);
  return slot >= 5461 && slot < 10_923;
});

it("E19 what is under way fails as Unavailable, in time; then commands and channels go on as before", async () => {
  const errors: unknown[] = [];
  const redis = await connectRedis({
    target: { kind: "cluster", nodes: cluster.nodes },
    patienceMs: 1500,
    stallMs: 600,
    onError: (error) => errors.push(error),
  });
  const key = `${TAG}n`;
  const heard: string[] = [];
  let reconnects = 0;
  redis.onSubscriberReconnect(() => {
    reconnects += 1;
  });
  await redis.subscribe(`${TAG}bell`, (payload) => heard.push(String(payload)));
  await redis.run(key, ["INCR", key]);

  process.kill(pid, "SIGSTOP");
  const begun = performance.now();
  const asked = [
    ...Array.from({ length: 20 }, () => redis.run(key, ["INCR", key])),
    redis.run(key, ["INCR", key], { durable: true }),
    redis.subscribe(`${TAG}other`, () => {}),
  ];
  for (const outcome of await Promise.allSettled(asked)) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { kind: "Unavailable" } });
  }
  expect(errors.map(String).join()).toContain("answered nothing for 600 ms");
  // On a new connection it says nothing either.
  await expect(redis.run(key, ["INCR", key])).rejects.toMatchObject({ kind: "Unavailable" });
  await expect(redis.subscribe(`${TAG}more`, () => {})).rejects.toMatchObject({ kind: "Unavailable" });
  expect(performance.now() - begun).toBeLessThan(20_000);

  process.kill(pid, "SIGCONT");
  const answer = () => redis.run(key, ["GET", key]).then(String, () => "none");
  await expect.poll(answer, { timeout: 20_000 }).toMatch(/^\d+$/);
  await expect.poll(() => reconnects, { timeout: 10_000 }).toBeGreaterThan(0);
  await redis.run(`${TAG}bell`, ["SPUBLISH", `${TAG}bell`, "after"]);
  await expect.poll(() => heard).toEqual(["after"]);
  await redis.close();
}, 90_000);

/** A connection whose durable writes wait for a replica that there is not. */
const waitingFor = (timeoutMs: number) =>
  connectRedis({
    target: { kind: "cluster", nodes: cluster.nodes },
    replicas: { count: 1, timeoutMs },
    patienceMs: 1500,
    stallMs: 600,
  });

it("E19 a server that hangs while a write waits for replicas fails it, too", async () => {
  const redis = await waitingFor(1000);
  const key = `${TAG}copied`;
  await redis.run(key, ["GET", key]);
  const written = redis.run(key, ["INCR", key], { durable: true });
  written.catch(() => {});
  await sleep(300);
  process.kill(pid, "SIGSTOP");
  const outcome = await Promise.race([
    written.catch((error: unknown) => error),
    sleep(8000, "waits for ever"),
  ]);
  process.kill(pid, "SIGCONT");
  await redis.close();
  expect(outcome).toMatchObject({
    kind: "Unavailable",
    cause: { message: expect.not.stringContaining("replicas took") },
  });
}, 60_000);

it("E19 a server that waits for replicas for longer does not count as one that hangs", async () => {
  const redis = await waitingFor(2000);
  const key = `${TAG}slow`;
  await redis.run(key, ["SET", key, "0"]);
  const written = redis.run(key, ["INCR", key], { durable: true });
  written.catch(() => {});
  await sleep(50);
  const behind = await redis.run(key, ["GET", key]).then(String, (error: unknown) => error);
  expect(behind).toBe("1");
  await expect(written).rejects.toMatchObject({ cause: { message: "0 of 1 replicas took the write" } });
  await redis.close();
}, 60_000);
