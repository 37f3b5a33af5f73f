import { afterAll, beforeAll, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { holder, Rig } from "./rig.ts";

let server: TestRedis;
let rig: Rig;
beforeAll(async () => {
  server = await startTestRedis();
  rig = new Rig(await server.connect());
});
afterAll(() => server.stop());

async function listed(contextId: string, state?: TaskState) {
  const page = await rig.tasks.list(rig.agent, {
    scopes: ["e:ep_sender"],
    contextId,
    state,
    statusAfter: undefined,
    pageSize: 50,
    cursor: undefined,
    shape: { historyLength: 0, includeArtifacts: false },
  });
  return { ids: page.tasks.map((task) => task.id).sort(), total: page.total };
}

it("A2A-60 context ids that read like parts of a key name no other listing", async () => {
  const states = [TaskState.SUBMITTED, TaskState.WORKING];
  const plain = ["x", "pin", "moved"];
  const contexts = plain.flatMap((context) => [
    context,
    ...states.flatMap((state) => [
      `${context}:s${state}`,
      `s${state}:c:${context}`,
      `c:${context}:s${state}`,
    ]),
  ]);
  const expected = new Map<string, Map<TaskState, string>>();
  for (const contextId of contexts) {
    const submitted = await rig.todo({ contextId });
    const working = await rig.todo({ contextId });
    await rig.take(holder("w"), working);
    expected.set(
      contextId,
      new Map([
        [TaskState.SUBMITTED, submitted],
        [TaskState.WORKING, working],
      ]),
    );
  }
  for (const [contextId, tasks] of expected) {
    const all = { ids: [...tasks.values()].sort(), total: 2 };
    expect([contextId, await listed(contextId)]).toEqual([contextId, all]);
    for (const [state, id] of tasks) {
      expect([contextId, await listed(contextId, state)]).toEqual([contextId, { ids: [id], total: 1 }]);
    }
  }
});
