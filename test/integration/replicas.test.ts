/** Two gateway processes on one Redis are one gateway to their clients. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type StreamResponse, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { Mortal } from "../fault/serve.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { message, type Peer, type Watch } from "../scenarios/actors.ts";
import { WireError } from "../scenarios/driver.ts";
import { grpcDriver } from "../scenarios/drivers/grpc.ts";
import { jsonRpcDriver } from "../scenarios/drivers/jsonrpc.ts";
import { restDriver } from "../scenarios/drivers/rest.ts";

let redis: TestRedis;
let one: Mortal;
let two: Mortal;
let work: string;

beforeAll(async () => {
  redis = await startTestRedis();
  [one, two] = await Promise.all([Mortal.start(redis.server.url), Mortal.start(redis.server.url)]);
  work = await one.vendor.vendWorker();
});

afterAll(async () => {
  await Promise.all([one?.stop(), two?.stop()]);
  await redis?.stop();
});

/** The same caller at both. */
async function atBoth(): Promise<{ token: string; here: Peer; there: Peer }> {
  const token = await one.vendor.vend();
  return { token, here: await one.peer(token), there: await two.peer(token) };
}

const eventsOf = (watch: Watch): readonly StreamResponse[] => watch.seen.slice(1);

it("SB-45 FR-32 A2A-84 A2A-85 a task sent through one is watched through both: the same events in the same order", async () => {
  const { token, here } = await atBoth();
  const { id } = await here.start();
  const places = [
    { gateway: one, driver: grpcDriver },
    { gateway: one, driver: jsonRpcDriver },
    { gateway: two, driver: grpcDriver },
    { gateway: two, driver: restDriver },
  ];
  const watches = await Promise.all(
    places.map(async ({ gateway, driver }) => (await gateway.peer(token, driver)).subscribe(id)),
  );
  for (const watch of watches) await watch.task();
  // The work itself goes through both in turn.
  const workers = [one.worker(work), two.worker(work)];
  await workers[0]?.claim(id);
  for (let index = 0; index < 30; index += 1) {
    await workers[index % 2]?.artifact(
      id,
      { artifactId: "a", parts: [{ text: String(index) }] },
      { append: true },
    );
  }
  await workers[1]?.complete(id);
  await Promise.all(watches.map((watch) => watch.all()));
  const [first, ...others] = watches;
  if (first === undefined) throw new Error("no watch");
  expect(first.briefs).toEqual([
    "task SUBMITTED",
    "status WORKING",
    ...Array.from({ length: 30 }, () => "artifact a+1"),
    "status COMPLETED",
  ]);
  for (const other of others) expect(eventsOf(other)).toEqual(eventsOf(first));
});

it("FR-32 A2A-74 cancel through the second ends the stream of the first", async () => {
  const { here, there } = await atBoth();
  const watch = await here.stream();
  const { id } = await watch.task();
  expect((await there.cancel(id)).status?.state).toBe(TaskState.CANCELED);
  await watch.all();
  expect(watch.briefs).toEqual(["task SUBMITTED", "status CANCELED"]);
});

it("A2A-30 FR-32 a send that waits at one is answered by work done through the other", async () => {
  const { here, there } = await atBoth();
  const content = message("wait here");
  const waiting = here.send(content);
  await expect.poll(async () => (await there.list()).totalSize).toBe(1);
  const [task] = (await there.list()).tasks;
  if (task === undefined) throw new Error("no task");
  await two.worker(work).do(task.id, [{ artifactId: "a", parts: [{ text: "x" }] }]);
  const answer = await waiting;
  expect([answer.id, answer.status?.state, answer.artifacts.length]).toEqual([
    task.id,
    TaskState.COMPLETED,
    1,
  ]);
});

it("A2A-44 FR-18 one message sent to both at once is one task", async () => {
  const { here, there } = await atBoth();
  const content = message("twice");
  const sends = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? here : there).start(content));
  const ids = (await Promise.all(sends)).map(({ id }) => id);
  expect(new Set(ids).size).toBe(1);
});

it("SB-59 revoking at one refuses the next call and ends the streams at the other, promptly", async () => {
  const vendor = one.vendor;
  const token = await vendor.vend();
  const there = await two.peer(token);
  const { id } = await there.start();
  const watch = await there.subscribe(id);
  await watch.task();
  const before = performance.now();
  await vendor.revoke(token);
  const end = await watch.all().then(
    () => "clean",
    (error: unknown) => error,
  );
  expect(performance.now() - before).toBeLessThan(2000);
  // The revocation ends the task too; whichever comes first ends the stream (SB-27).
  if (end !== "clean") expect(end).toBeInstanceOf(WireError);
  expect(watch.briefs.filter((text) => text.startsWith("status"))).toEqual(
    end === "clean" ? ["status FAILED"] : [],
  );
  await expect(there.get(id)).rejects.toMatchObject({ seen: { reason: "UNAUTHENTICATED" } });
});

it("A2A-59 SB-35 a page token of one is good at the other, and only for its caller", async () => {
  const { here, there } = await atBoth();
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1) ids.push((await here.start()).id);
  const first = await here.list({ pageSize: 3 });
  const second = await there.list({ pageSize: 3, pageToken: first.nextPageToken });
  expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids.toReversed());
  const { there: stranger } = await atBoth();
  await expect(stranger.list({ pageSize: 3, pageToken: first.nextPageToken })).rejects.toMatchObject({
    seen: { reason: "INVALID_PARAMS" },
  });
});

it("SB-47 the cap on streams counts those of both", async () => {
  const { here, there } = await atBoth();
  const watches = await Promise.all(
    Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? here : there).stream()),
  );
  for (const peer of [here, there]) {
    await expect(peer.stream()).rejects.toMatchObject({ seen: { reason: "RATE_LIMITED" } });
  }
  for (const watch of watches) watch.close();
});

it("SB-10 fifty claims at once, over both, find fifty todos: none twice, none missed", async () => {
  const { here } = await atBoth();
  const queue = "default";
  const ids = await Promise.all(Array.from({ length: 50 }, async () => (await here.start("claim me")).id));
  const workers = [one.worker(work), two.worker(work)];
  const claims = await Promise.all(
    Array.from({ length: 50 }, (_, index) => workers[index % 2]?.client.claim({ queue })),
  );
  const claimed = claims.map((claim) => claim?.todo?.id);
  // Other tests leave todos behind that are older; what matters is that nobody gets what another got.
  expect(claimed).not.toContain(undefined);
  expect(new Set(claimed).size).toBe(50);
  let last = await workers[0]?.client.claim({ queue });
  const rest: (string | undefined)[] = [];
  while (last?.todo !== undefined) {
    rest.push(last.todo.id);
    last = await workers[0]?.client.claim({ queue });
  }
  for (const id of ids) expect([...claimed, ...rest]).toContain(id);
  expect(new Set([...claimed, ...rest]).size).toBe(50 + rest.length);
});

it("SB-11 twenty claims of one todo at once, over both: one wins, nineteen conflict", async () => {
  const { here } = await atBoth();
  const { id } = await here.start("only one");
  const workers = [one.worker(work), two.worker(work)];
  const claims = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) => workers[index % 2]?.claim(id)),
  );
  expect(claims.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const claim of claims) {
    if (claim.status === "rejected") expect(String(claim.reason)).toMatch(/\[aborted\]/);
  }
  const { todo, attempts } = (await workers[1]?.client.getTodo({ id })) ?? {};
  expect([todo?.attempt, attempts?.length]).toEqual([1, 1]);
});
