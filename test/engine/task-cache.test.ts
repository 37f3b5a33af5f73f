/** A task that a process has read before is asked for again by its version: what another process changed is seen. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { NullValue } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  ArtifactSchema,
  PartSchema,
  Role,
  type Task,
  TaskSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RedisConnection } from "../../src/store/connection.ts";
import { memoryOf } from "../../src/store/task-weight.ts";
import { type TaskSnapshot, WHOLE_TASK } from "../../src/store/tasks.ts";
import { VersionCache } from "../../src/store/version-cache.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { holder, Rig } from "./rig.ts";

let server: TestRedis;
let here: RedisConnection;
let there: RedisConnection;

beforeAll(async () => {
  server = await startTestRedis();
  [here, there] = await Promise.all([server.connect(), server.connect()]);
});

afterAll(async () => {
  await server?.stop();
});

const owner = { id: "ep_sender", shared: false, queues: [] };
const worker = holder("worker");

/** Two processes: their stores share nothing but Redis. */
function twoReplicas(): { one: Rig; two: Rig } {
  const one = new Rig(here);
  return { one, two: new Rig(there, 50, one.agent) };
}

async function read(rig: Rig, id: string, viewer = owner): Promise<TaskSnapshot> {
  const snapshot = await rig.tasks.read(rig.agent, id, viewer, WHOLE_TASK);
  if (snapshot === undefined) throw new Error("not found");
  return snapshot;
}

describe("reading a task again", () => {
  it("gives the same object while nothing has changed", async () => {
    const { two, one } = twoReplicas();
    const id = await one.todo();
    expect(await read(two, id)).toBe(await read(two, id));
  });

  it("SB-45 shows each change of another replica with the first read after it", async () => {
    const { one, two } = twoReplicas();
    const id = await one.todo();
    expect((await read(two, id)).state).toBe(TaskState.SUBMITTED);
    await one.take(worker, id);
    const working = await read(two, id);
    expect(working.state).toBe(TaskState.WORKING);
    for (let count = 1; count <= 50; count += 1) {
      await one.todos.progress(one.agent, id, worker, {
        artifact: create(ArtifactSchema, { artifactId: "a", extensions: [String(count)] }),
        append: count > 1,
        lastChunk: false,
      });
      const { task, seq } = await read(two, id);
      expect(task.artifacts[0]?.extensions).toHaveLength(count);
      expect(seq).toBe(working.seq + count);
    }
    await one.finish(worker, id, "complete");
    expect((await read(two, id)).state).toBe(TaskState.COMPLETED);
  });

  it("keeps answers of different length apart", async () => {
    const { one } = twoReplicas();
    const id = await one.todo();
    expect((await read(one, id)).task.history).toHaveLength(1);
    const without = { historyLength: 0, includeArtifacts: true };
    expect((await one.tasks.read(one.agent, id, owner, without))?.task.history).toHaveLength(0);
    expect((await read(one, id)).task.history).toHaveLength(1);
  });

  it("A2A-10 shows nothing to a viewer who may not see it, however often another has read it", async () => {
    const { one } = twoReplicas();
    const id = await one.todo();
    await read(one, id);
    const stranger = { id: "ep_stranger", shared: false, queues: [] };
    expect(await one.tasks.read(one.agent, id, stranger, WHOLE_TASK)).toBeUndefined();
  });

  it("finds nothing once the record is gone", async () => {
    const { one, two } = twoReplicas();
    const id = await one.todo();
    await read(two, id);
    await one.run("DEL", one.key("task", id));
    expect(await two.tasks.read(two.agent, id, owner, WHOLE_TASK)).toBeUndefined();
  });

  it("does not take a record that was written anew after a loss for the one it knew", async () => {
    const { one, two } = twoReplicas();
    const id = await one.todo();
    const before = await read(two, id);
    const artifact = (name: string) => ({
      artifact: create(ArtifactSchema, { artifactId: "a", name }),
      append: false,
      lastChunk: false,
    });
    await one.take(worker, id);
    const dump = await one.run("DUMP", one.key("task", id));
    await one.todos.progress(one.agent, id, worker, artifact("lost"));
    expect((await read(two, id)).task.artifacts[0]?.name).toBe("lost");
    // As after a failover that lost the artifact: the next one is counted as the lost one was.
    await one.redis.run(one.key(), ["RESTORE", one.key("task", id), "0", dump as Buffer, "REPLACE"]);
    await one.redis.run(one.key(), ["DEL", `${one.key("task", id)}:log`]);
    await one.todos.progress(one.agent, id, worker, artifact("kept"));
    const after = await read(two, id);
    expect(after).not.toBe(before);
    expect(after.task.artifacts[0]?.name).toBe("kept");
  });
});

describe("the cache", () => {
  it("drops what was not used for longest once it is full", () => {
    const cache = new VersionCache<string>(100_000);
    const room = 12;
    for (let index = 0; index < room; index += 1) cache.set(`k${index}`, "1", `s${index}`, 7200);
    expect(cache.get("k0")?.value).toBe("s0");
    cache.set("more", "1", "more", 7200);
    expect(cache.get("k0")).toBeDefined();
    expect(cache.get("k1")).toBeUndefined();
    expect(cache.get("more")).toBeDefined();
  });

  it("keeps nothing that would fill it alone", () => {
    const cache = new VersionCache<string>(100_000);
    cache.set("large", "1", "large", 12_500);
    expect(cache.get("large")).toBeUndefined();
  });

  it("counts an entry once that is written again", () => {
    const cache = new VersionCache<string>(100_000);
    cache.set("other", "1", "other", 100);
    for (let index = 0; index < 1000; index += 1) cache.set("same", String(index), "same", 7200);
    expect(cache.get("other")).toBeDefined();
    expect(cache.get("same")?.version).toBe("999");
  });
});

describe("what is kept", () => {
  const text = (value: string) => create(PartSchema, { content: { case: "text", value } });
  const kinds: readonly (readonly [string, () => MessageInitShape<typeof TaskSchema>])[] = [
    ["a long text", () => ({ artifacts: [{ artifactId: "a", parts: [text("x".repeat(200_000))] }] })],
    [
      "very many parts",
      () => ({ artifacts: [{ artifactId: "a", parts: Array.from({ length: 40_000 }, () => text("a")) }] }),
    ],
    [
      "very many messages",
      () => ({
        history: Array.from({ length: 4000 }, (_, index) => ({
          messageId: String(index),
          role: Role.USER,
          parts: [text("a")],
        })),
      }),
    ],
    [
      "structured data",
      () => {
        const values = Array.from({ length: 40_000 }, () => ({
          kind: { case: "nullValue" as const, value: NullValue.NULL_VALUE },
        }));
        const value = { kind: { case: "listValue" as const, value: { values } } };
        return { artifacts: [{ artifactId: "a", parts: [{ content: { case: "data" as const, value } }] }] };
      },
    ],
    [
      "metadata",
      () => ({
        metadata: Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, null])),
      }),
    ],
  ];

  it.each(kinds)("counts at least the memory that it takes: %s", (_, make) => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const bytes = Buffer.from(toBinary(TaskSchema, create(TaskSchema, make())));
    const held: Task[] = [];
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let count = 0; count < 10; count += 1) held.push(fromBinary(TaskSchema, Buffer.from(bytes)));
    collect();
    const each = (process.memoryUsage().heapUsed - before) / held.length;
    expect(memoryOf(held[0] as Task, bytes.length)).toBeGreaterThan(each);
  });
});
