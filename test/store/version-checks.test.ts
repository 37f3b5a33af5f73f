/** Reads of what a process has at hand: asked for together, answered each for itself. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { startEmbeddedRedis } from "../../src/redis/embedded.ts";
import { connectRedis } from "../../src/store/connect-redis.ts";
import type { RedisConnection } from "../../src/store/connection.ts";
import { loadScripts } from "../../src/store/load-scripts.ts";
import { TaskStore, WHOLE_TASK } from "../../src/store/tasks.ts";
import type { Viewer } from "../../src/store/viewer.ts";
import { runInSpan } from "../../src/telemetry/tracing/active.ts";
import type { TraceSpan } from "../../src/telemetry/tracing/span.ts";
import { holder, Rig } from "../engine/rig.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { type Recording, recording } from "./recording.ts";

const OWNER: Viewer = { id: "ep_sender", shared: false, queues: [] };
const worker = holder("worker");

const shas = new Map(loadScripts().map(({ name, sha }) => [sha, name]));

/** Scripts that went out since the last call, each with the number of tasks that a check asked for. */
function takeCalls({ sent }: Recording): string[] {
  return sent.splice(0).map(([command, sha, , , , ...args]) => {
    const name = shas.get(String(sha)) ?? String(command);
    return name === "check" ? `check ${args.length / 5}` : name;
  });
}

let server: TestRedis;
let here: RedisConnection;
let there: RedisConnection;
beforeAll(async () => {
  server = await startTestRedis();
  [here, there] = await Promise.all([server.connect(), server.connect()]);
  // So that Redis knows the scripts.
  const rig = new Rig(here);
  const id = await rig.todo();
  for (const _ of ["read", "check"]) await rig.task(id);
});
afterAll(async () => {
  await server?.stop();
});

/** What is written by one process, and another that reads it and is watched. */
function twoReplicas() {
  const writer = new Rig(here);
  const redis = recording(there);
  const tasks = new TaskStore(redis);
  const read = (id: string, viewer: Viewer = OWNER) => tasks.read(writer.agent, id, viewer, WHOLE_TASK);
  return { writer, redis, read };
}

async function todos(writer: Rig, count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => writer.todo()));
}

describe("reads of one turn", () => {
  it("are asked for in one call, two of one task twice", async () => {
    const { writer, redis, read } = twoReplicas();
    const ids = await todos(writer, 3);
    const first = await Promise.all(ids.map((id) => read(id)));
    expect(takeCalls(redis)).toEqual(["read", "read", "read"]);
    const again = await Promise.all([...ids, ids[0] ?? ""].map((id) => read(id)));
    expect(takeCalls(redis)).toEqual(["check 4"]);
    for (const [index, snapshot] of again.entries()) expect(snapshot).toBe(first[index % 3]);
  });

  it("of two agents are two calls, since their keys may lie on two servers", async () => {
    const [one, two] = [new Rig(here), new Rig(here)];
    const redis = recording(there);
    const tasks = new TaskStore(redis);
    const pairs = [
      [one.agent, await one.todo()],
      [two.agent, await two.todo()],
    ] as const;
    const readAll = () => Promise.all(pairs.map(([agent, id]) => tasks.read(agent, id, OWNER, WHOLE_TASK)));
    const first = await readAll();
    takeCalls(redis);
    const again = await readAll();
    expect(takeCalls(redis)).toEqual(["check 1", "check 1"]);
    for (const [index, snapshot] of again.entries()) expect(snapshot).toBe(first[index]);
  });

  it("are no more than 64 to a call, so that no call holds Redis up", async () => {
    const { writer, redis, read } = twoReplicas();
    const ids = await todos(writer, 150);
    const first = await Promise.all(ids.map((id) => read(id)));
    takeCalls(redis);
    await writer.take(worker, ids[100] ?? "");
    const again = await Promise.all(ids.map((id) => read(id)));
    expect(takeCalls(redis)).toEqual(["check 64", "check 64", "check 22", "read"]);
    for (const [index, snapshot] of again.entries()) {
      if (index !== 100) expect(snapshot).toBe(first[index]);
    }
    expect(again[100]?.state).toBe(TaskState.WORKING);
  });

  it("are answered each for itself: current, changed, gone, another key, and none of the viewer's", async () => {
    const { writer, redis, read } = twoReplicas();
    const [current = "", changed = "", gone = "", other = "", foreign = ""] = await todos(writer, 5);
    const ids = [current, changed, gone, other, foreign];
    const first = await Promise.all(ids.map((id) => read(id)));
    takeCalls(redis);
    await writer.take(worker, changed);
    await writer.run("DEL", writer.key("task", gone));
    await writer.run("DEL", writer.key("task", other));
    await writer.run("RPUSH", writer.key("task", other), "no hash");
    const stranger = { id: "ep_stranger", shared: false, queues: ["default"] };
    const again = await Promise.all([
      read(current),
      read(changed),
      read(gone),
      read(other),
      read(foreign, stranger),
      read(foreign),
    ]);
    expect(again[0]).toBe(first[0]);
    expect(again[1]?.state).toBe(TaskState.WORKING);
    expect(again.slice(2, 5)).toEqual([undefined, undefined, undefined]);
    expect(again[5]).toBe(first[4]);
    expect(takeCalls(redis)).toEqual(["check 6", "read", "read", "read", "read"]);
  });
});

describe("the viewer is looked at by each read", () => {
  it("A2A-10 who may see a task and who may not, in one call", async () => {
    const { writer, redis, read } = twoReplicas();
    const id = await writer.todo();
    const known = await read(id);
    takeCalls(redis);
    const cases: readonly (readonly [string, Viewer, boolean])[] = [
      ["its sender", OWNER, true],
      ["a stranger", { id: "ep_other", shared: false, queues: [] }, false],
      [
        "a stranger of the queue, which is not shared",
        { id: "o", shared: false, queues: ["default"] },
        false,
      ],
      ["one of the shared queue", { id: "o", shared: true, queues: ["more", "default"] }, true],
      ["one of another queue", { id: "o", shared: true, queues: ["more"] }, false],
      ["one of no queue", { id: "o", shared: true, queues: [] }, false],
      ["one without a name", { id: "", shared: false, queues: [] }, false],
      ["an operator", { id: "op", shared: false, queues: [], all: true }, true],
    ];
    const seen = await Promise.all(cases.map(([, viewer]) => read(id, viewer)));
    for (const [index, [who, , may]] of cases.entries()) expect(seen[index] === known, who).toBe(may);
    expect(takeCalls(redis)[0]).toBe("check 8");
  });

  it("an operator does not see a task that is gone", async () => {
    const { writer, read } = twoReplicas();
    const id = await writer.todo();
    await read(id);
    await writer.run("DEL", writer.key("task", id));
    expect(await read(id, { id: "op", shared: false, queues: [], all: true })).toBeUndefined();
  });

  it("SB-59 one whose queue was taken away sees nothing from the next read on", async () => {
    const { writer, read } = twoReplicas();
    const id = await writer.todo();
    const granted = { id: "ep_friend", shared: true, queues: ["default"] };
    for (let round = 0; round < 20; round += 1) {
      const [before, after] = await Promise.all([read(id, granted), read(id, { ...granted, queues: [] })]);
      expect(before?.task.id).toBe(id);
      expect(after).toBeUndefined();
    }
  });

  it("SB-59 one who is not the owner any more sees nothing, though the version is the same", async () => {
    const { writer, read } = twoReplicas();
    const id = await writer.todo();
    await read(id);
    await writer.run("HSET", writer.key("task", id), "owner", "ep_other");
    expect(await read(id)).toBeUndefined();
  });
});

it("SB-45 a commit of one replica is seen by every read at another that begins after it", async () => {
  const { writer, read } = twoReplicas();
  const [id = "", ...quiet] = await todos(writer, 20);
  for (let round = 1; round <= 30; round += 1) {
    // More readers all the time, so that the questions are in batches.
    const crowd = quiet.map((each) => read(each));
    await writer.reply(id);
    const reads = [read(id), ...quiet.map((each) => read(each)), read(id)];
    const [first, ...rest] = await Promise.all(reads);
    expect(first?.task.history).toHaveLength(round + 1);
    expect(rest.at(-1)?.task.history).toHaveLength(round + 1);
    await Promise.all(crowd);
  }
});

describe("in a trace", () => {
  /** A span that notes its children. */
  function span(sampled: boolean, children: string[]): TraceSpan {
    return {
      context: { traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-0${sampled ? 1 : 0}`, tracestate: "" },
      sampled,
      start(name) {
        children.push(name);
        return span(sampled, children);
      },
      set() {},
      end() {},
    } as TraceSpan;
  }

  it("B13 a recorded call asks alone and has a span of it; one that is not recorded asks with the others", async () => {
    const { writer, redis, read } = twoReplicas();
    const ids = await todos(writer, 3);
    const first = await Promise.all(ids.map((id) => read(id)));
    takeCalls(redis);
    const children: string[] = [];
    const [traced, unsampled, plain] = await Promise.all([
      runInSpan(span(true, children), () => read(ids[0] ?? "")),
      runInSpan(span(false, children), () => read(ids[1] ?? "")),
      read(ids[2] ?? ""),
    ]);
    expect([traced, unsampled, plain]).toEqual(first);
    expect(children).toEqual(["EVALSHA read"]);
    expect(takeCalls(redis)).toEqual(["read", "check 2"]);
  });
});

describe("a server that goes and comes", () => {
  it("that has forgotten its scripts is given them again", async () => {
    const { writer, redis, read } = twoReplicas();
    const ids = await todos(writer, 3);
    const first = await Promise.all(ids.map((id) => read(id)));
    takeCalls(redis);
    await writer.run("SCRIPT", "FLUSH");
    expect(await Promise.all(ids.map((id) => read(id)))).toEqual(first);
    expect(takeCalls(redis)).toEqual(["check 3", "EVAL"]);
  });

  it("fails each read as Unavailable while it is away, and answers each when it is back", async () => {
    const dir = await mkdtemp(join(tmpdir(), "baton-"));
    let redis = await startEmbeddedRedis({ dir });
    const connection = await connectRedis({
      target: { kind: "socket", path: redis.socketPath },
      patienceMs: 300,
    });
    onTestFinished(async () => {
      await connection.close();
      await redis.stop();
      await rm(dir, { recursive: true, force: true });
    });
    const rig = new Rig(connection);
    const ids = await todos(rig, 70);
    const readAll = () => Promise.allSettled(ids.map((id) => rig.task(id)));
    await readAll();
    await redis.stop();
    for (const outcome of await readAll()) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { kind: "Unavailable" } });
    }
    redis = await startEmbeddedRedis({ dir });
    await expect.poll(() => rig.run("PING").then(String, () => ""), { timeout: 10_000 }).toBe("PONG");
    for (const [index, outcome] of (await readAll()).entries()) {
      expect(outcome).toMatchObject({ status: "fulfilled", value: { task: { id: ids[index] } } });
    }
    // Once more: the first reads after it were of a memory that had been emptied.
    for (const outcome of await readAll()) expect(outcome.status).toBe("fulfilled");
  });
});
