import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Pair, startPair } from "./setup.ts";

describe.each([1, 2] as const)("a host of major %i", (major) => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await startPair(major);
  });
  afterAll(() => pair.stop());

  it("OW-17 OW-18 a send makes one run and waits for its question", async () => {
    const client = await pair.client("conformance-approval");
    const before = pair.host.state.engine.created;
    const task = await client.start();
    expect(task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(pair.host.state.engine.created).toBe(before + 1);
    expect(pair.host.state.engine.runs.has(task.id)).toBe(true);
    const { result } = await client.decide(task.id, { action: "accept" });
    expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
    console.log(JSON.stringify(result.task, null, 1));
  });
});
