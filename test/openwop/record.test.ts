import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { taskRecord } from "../../src/domain/openwop/run-projection.ts";
import type { Json, RpcClient } from "./rpc.ts";
import { type Pair, startPair } from "./setup.ts";

const document = JSON.parse(
  readFileSync(new URL("../../schemas/a2a-task-state.schema.json", import.meta.url), "utf8"),
);
const schema = z.fromJSONSchema(document);
const valid = (record: unknown): boolean => schema.safeParse(record).success;
const good = {
  taskId: "acme/r-1",
  runId: "acme/r-1",
  state: "working",
  updatedAt: "2026-01-02T03:04:05.678Z",
};

describe("the schema of the record (OW-10, the shape legs of a2a-task-roundtrip)", () => {
  it.each<[boolean, string, unknown]>([
    [true, "a good record", good],
    [
      true,
      "one with everything",
      {
        ...good,
        contextId: "c",
        interruptKind: "approval",
        pushConfig: { url: "https://x.example/p", tokenFingerprint: "f".repeat(32) },
      },
    ],
    [false, "the wire spelling of 1.0", { ...good, state: "WORKING" }],
    [false, "inputs", { ...good, inputs: {} }],
    [false, "a push config without a url", { ...good, pushConfig: {} }],
    [
      false,
      "a fingerprint that is too long to be one",
      { ...good, pushConfig: { url: "https://x.example/p", tokenFingerprint: "f".repeat(33) } },
    ],
    [false, "no run", { ...good, runId: undefined }],
    [false, "an unknown interrupt kind", { ...good, interruptKind: "credential" }],
  ])("OW-10 %s: %s", (expected, _what, record) => {
    expect(valid(record)).toBe(expected);
  });

  it("OW-10 OW-11 what Baton writes of a run is such a record in every state", () => {
    for (const state of [1, 2, 3, 4, 5, 6, 8] as TaskState[]) {
      for (const interruptKind of ["", "approval", "clarification"]) {
        const record = taskRecord({ runId: "acme/r-1", contextId: "", state, interruptKind, updatedMs: 1 });
        expect(valid(record), JSON.stringify(record)).toBe(true);
        expect(record.taskId).toBe(record.runId);
        expect("interruptKind" in record).toBe(state === TaskState.INPUT_REQUIRED && interruptKind !== "");
      }
    }
  });
});

describe("records of real tasks", () => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await startPair(2);
  });
  afterAll(() => pair.stop());

  it.each([
    ["echo", "completed", undefined],
    ["fails", "failed", undefined],
    ["conformance-approval", "input-required", "approval"],
    ["clarify", "input-required", "clarification"],
    ["external", "input-required", undefined],
    ["credential", "auth-required", undefined],
  ])("OW-10 OW-13 a task of %s is %s", async (agent, state, interruptKind) => {
    const client = await pair.client(agent);
    const task = await client.start();
    const response = await fetch(`${pair.gateway.url}/v1/a2a/tasks/${encodeURIComponent(task.id)}`, {
      headers: { authorization: `Bearer ${client.token}` },
    });
    const record: Json = await response.json();
    expect(valid(record), JSON.stringify(record)).toBe(true);
    expect(record).toMatchObject({ taskId: task.id, runId: task.id, state, contextId: task.contextId });
    expect(record.interruptKind).toBe(interruptKind);
    expect(record.updatedAt).toBe(task.status.timestamp);
  });

  it("OW-10 OW-16 every record on the way of a run is one: working, paused, canceled", async () => {
    const read = async (client: RpcClient, id: string): Promise<Json> => {
      const url = `${pair.gateway.url}/v1/a2a/tasks/${encodeURIComponent(id)}`;
      const response = await fetch(url, { headers: { authorization: `Bearer ${client.token}` } });
      const record: Json = await response.json();
      expect(valid(record), JSON.stringify(record)).toBe(true);
      return record;
    };
    for (const agent of ["slow", "paused"]) {
      const client = await pair.client(agent);
      const { id } = await client.start("x", { configuration: { returnImmediately: true } });
      expect(["submitted", "working"]).toContain((await read(client, id)).state);
      await client.until(id, "TASK_STATE_WORKING");
      expect((await read(client, id)).state).toBe("working");
      await client.call("CancelTask", { id });
      await client.until(id, "TASK_STATE_CANCELED");
      expect((await read(client, id)).state).toBe("canceled");
    }
  });
});
