import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { RESUMABLE_STREAMS_URI, RESUME_HEADER } from "../../src/service/resumable-streams.ts";
import type { RedisConnection } from "../../src/store/connection.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { brief, Peer, TestWorker, type Watch, workerTransport } from "../scenarios/actors.ts";
import type { Driver } from "../scenarios/driver.ts";
import { DRIVERS } from "./drivers.ts";

let redis: TestRedis;
let store: RedisConnection;
let first: TestGateway;
let second: TestGateway;
let worker: TestWorker;

beforeAll(async () => {
  redis = await startTestRedis();
  store = await redis.connect();
  [first, second] = await Promise.all([
    startTestGateway({ redis: { url: redis.server.url } }),
    startTestGateway({ redis: { url: redis.server.url } }),
  ]);
  worker = new TestWorker(workerTransport(first.url, await first.vendWorker()));
});
afterAll(async () => {
  await first?.stop();
  await second?.stop();
  await redis?.stop();
});

const DECLARED = { "a2a-extensions": RESUMABLE_STREAMS_URI };

/** The position that an event says it has. */
function positionOf({ payload }: StreamResponse): string {
  if (payload.case === undefined) throw new Error("an empty event");
  const mark = payload.value.metadata?.[RESUMABLE_STREAMS_URI];
  if (typeof mark !== "object" || mark === null || Array.isArray(mark)) throw new Error("no position");
  return String(mark.eventId);
}

function texts(watch: Watch): string[] {
  return watch.seen.map((event) => {
    const { payload } = event;
    if (payload.case !== "statusUpdate") return brief(event);
    const content = payload.value.status?.message?.parts[0]?.content;
    return content?.case === "text" ? content.value : brief(event);
  });
}

describe.each(DRIVERS.map((kind) => [kind.name, kind] as const))("%s", (_, kind) => {
  let onFirst: Driver;
  let onSecond: Driver;
  let token: string;

  beforeAll(async () => {
    onFirst = await kind.connect({ url: first.url, authority: new URL(first.url).host });
    onSecond = await kind.connect({ url: second.url, authority: new URL(second.url).host });
    token = await first.vend();
  });
  afterAll(async () => {
    await onFirst?.close();
    await onSecond?.close();
  });

  const peerOn = (driver: Driver, headers: Record<string, string> = DECLARED) =>
    new Peer(driver, { token, headers });

  /** A claimed task, and a stream of it that has shown `T1` and `T2` and was cut. */
  async function cutAfterTwo(): Promise<{ id: string; position: string }> {
    const peer = peerOn(onFirst);
    const { id } = await peer.start();
    await worker.claim(id);
    const watch = await peer.subscribe(id);
    await watch.task();
    for (const text of ["T1", "T2"]) {
      await worker.progress(id, text);
      await watch.next();
    }
    const last = watch.seen.at(-1);
    watch.close();
    if (last === undefined) throw new Error("nothing was seen");
    return { id, position: positionOf(last) };
  }

  const resumed = (position: string, driver = onSecond) =>
    peerOn(driver, { ...DECLARED, "a2a-last-event-id": position });

  it("E1, E4 a client that comes back to another replica gets exactly what it missed", async () => {
    const { id, position } = await cutAfterTwo();
    await worker.progress(id, "T3");
    await worker.progress(id, "T4");
    const watch = await resumed(position).subscribe(id);
    await watch.next();
    await watch.next();
    expect(watch.headers.get(RESUME_HEADER)).toBe("replay");
    await worker.progress(id, "T5");
    await worker.complete(id);
    await watch.all();
    expect(texts(watch)).toEqual(["T3", "T4", "T5", "status COMPLETED"]);
    const positions = watch.seen.map(positionOf).map(Number);
    expect(positions).toEqual(positions.map((__, index) => Number(position) + 1 + index));
  });

  it("E1 the end that came while the client was away is replayed, and ends the stream", async () => {
    const { id, position } = await cutAfterTwo();
    await worker.progress(id, "T3");
    await worker.complete(id);
    const watch = await resumed(position).subscribe(id);
    await watch.all();
    expect(texts(watch)).toEqual(["T3", "status COMPLETED"]);
  });

  it("A2A-87 nothing was missed: the task opens the stream, then what happens", async () => {
    const { id, position } = await cutAfterTwo();
    const watch = await resumed(position).subscribe(id);
    await watch.task();
    expect(watch.headers.get(RESUME_HEADER)).toBe("current");
    expect(watch.seen.map(positionOf)).toEqual([position]);
    await worker.complete(id);
    await watch.all();
    expect(watch.briefs).toEqual(["task WORKING", "status COMPLETED"]);
  });

  it("A2A-88 nothing was missed of a task that has ended: as without a position", async () => {
    const { id, position } = await cutAfterTwo();
    await worker.complete(id);
    const end = String(Number(position) + 1);
    await expect(resumed(end).subscribe(id)).rejects.toMatchObject({
      seen: { reason: "UNSUPPORTED_OPERATION" },
    });
  });

  it("E1 events that the log no longer holds: the task as it is now, and it is said", async () => {
    const { id, position } = await cutAfterTwo();
    for (const text of ["T3", "T4", "T5"]) await worker.progress(id, text);
    const key = `baton:{default}:task:${id}`;
    await store.run(key, ["XTRIM", `${key}:log`, "MAXLEN", "=", "2"]);
    const watch = await resumed(position).subscribe(id);
    const task = await watch.task();
    expect(watch.headers.get(RESUME_HEADER)).toBe("gap");
    expect(task.status?.message?.parts[0]?.content.value).toBe("T5");
    await worker.complete(id);
    await watch.all();
    expect(watch.briefs).toEqual(["task WORKING", "status COMPLETED"]);

    const late = await resumed(position).subscribe(id);
    await late.all();
    expect(late.headers.get(RESUME_HEADER)).toBe("gap");
    expect(late.briefs).toEqual(["task COMPLETED"]);
  });

  it.each(["999999", "-1", "1.5", "x", "9007199254740993", "1;2", "٣"])(
    "A2A-141 a position that is none of the task (%s) is a gap and no error",
    async (position) => {
      const { id } = await cutAfterTwo();
      // What no header can hold is sent as HTTP clients would: percent-encoded.
      const watch = await resumed(encodeURIComponent(position)).subscribe(id);
      await watch.task();
      expect(watch.headers.get(RESUME_HEADER)).toBe("gap");
      watch.close();
    },
  );

  it("A2A-10 a position opens nothing that belongs to somebody else", async () => {
    const { id } = await cutAfterTwo();
    const bob = new Peer(onSecond, {
      token: await second.vend(),
      headers: { ...DECLARED, "a2a-last-event-id": "1" },
    });
    await expect(bob.subscribe(id)).rejects.toMatchObject({ seen: { reason: "TASK_NOT_FOUND" } });
  });

  it("A2A-122 without the extension no event carries anything of ours, and nothing is replayed", async () => {
    const peer = peerOn(onFirst, {});
    const { id } = await peer.start();
    await worker.claim(id);
    const watch = await peer.subscribe(id);
    await watch.task();
    expect(watch.headers.has(RESUME_HEADER)).toBe(false);
    expect(watch.headers.has("a2a-extensions")).toBe(false);
    await worker.progress(id, "T1");
    await worker.complete(id);
    await watch.all();
    expect(watch.briefs).toEqual(["task WORKING", "status WORKING", "status COMPLETED"]);
    for (const { payload } of watch.seen)
      expect(payload.value?.metadata ?? {}).not.toHaveProperty(RESUMABLE_STREAMS_URI);
  });

  it("A2A-25 says that the extension is active", async () => {
    const peer = peerOn(onFirst, { "a2a-extensions": `urn:unknown, ${RESUMABLE_STREAMS_URI}` });
    const { id } = await peer.start();
    const watch = await peer.subscribe(id);
    expect(watch.headers.get("a2a-extensions")).toBe(RESUMABLE_STREAMS_URI);
    watch.close();
  });

  it("A2A-100 a question that was answered meanwhile does not end the replay; one that stands does", async () => {
    const { id, position } = await cutAfterTwo();
    await worker.ask(id, "which?");
    await peerOn(onFirst).start({
      messageId: crypto.randomUUID(),
      role: "ROLE_USER",
      taskId: id,
      parts: [{ text: "that" }],
    });
    await worker.progress(id, "T3");
    await worker.ask(id, "and then?");
    const watch = await resumed(position).subscribe(id);
    await watch.all();
    expect(watch.briefs.filter((text) => text === "status INPUT_REQUIRED")).toHaveLength(2);
    expect(texts(watch).at(-1)).toBe("and then?");
  });
});
