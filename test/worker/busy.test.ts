import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { Worker, type WorkerOptions } from "../../src/worker/index.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { type TestClient, testClient } from "./client.ts";

const { COMPLETED, SUBMITTED } = TaskState;

describe("a worker whose queue is full", () => {
  let gateway: TestGateway;
  let client: TestClient;
  let credential: string;

  beforeAll(async () => {
    gateway = await startTestGateway();
    client = testClient(gateway.url, await gateway.vend());
    credential = await gateway.vendWorker();
  });
  afterAll(async () => {
    client.close();
    await gateway.stop();
  });

  const work = (options: Pick<WorkerOptions, "handler"> & Partial<WorkerOptions>) =>
    new Worker({ url: gateway.url, credential, ...options });

  const fill = (count: number) => Promise.all(Array.from({ length: count }, (_, i) => client.send(`${i}`)));

  /** Calls of a method of the worker service that have ended. */
  async function callsOf(method: string): Promise<number> {
    const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    const line = new RegExp(
      `^(?:rpc_server_call|baton_stream)_duration_seconds_count\\{[^}]*WorkerService/${method}"[^}]*\\} (\\d+)`,
      "gm",
    );
    return [...text.matchAll(line)].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  it("completes one todo and claims the next in one call, and watches none that is soon done", async () => {
    const ids = await fill(20);
    const [claims, watches] = [await callsOf("Claim"), await callsOf("WatchTodo")];
    const seen: string[] = [];
    const worker = work({ handler: ({ todo }) => void seen.push(todo.id) });
    worker.start();
    for (const id of ids) await client.until(id, [COMPLETED]);
    await worker.stop();
    expect(seen.toSorted()).toEqual(ids.toSorted());
    expect((await callsOf("Claim")) - claims).toBeLessThan(20 / 2);
    expect((await callsOf("WatchTodo")) - watches).toBeLessThan(20 / 2);
  });

  it("never works on more at once than it may", async () => {
    const ids = await fill(30);
    let [now, most] = [0, 0];
    const worker = work({
      concurrency: 3,
      handler: async () => {
        now += 1;
        most = Math.max(most, now);
        await sleep(5);
        now -= 1;
      },
    });
    worker.start();
    for (const id of ids) await client.until(id, [COMPLETED]);
    await worker.stop();
    expect(most).toBe(3);
  });

  it("leaves nothing behind when it stops between one todo and the next", async () => {
    for (let round = 0; round < 15; round += 1) {
      const ids = await fill(10);
      const worker = work({ handler: () => "done" });
      worker.start();
      await client.until(ids[0] ?? "", [COMPLETED]);
      await sleep(round);
      await worker.stop();
      for (const id of ids) {
        const state = (await client.a2a.getTask({ id })).status?.state ?? TaskState.UNSPECIFIED;
        expect([COMPLETED, SUBMITTED]).toContain(state);
        if (state === SUBMITTED) await client.a2a.cancelTask({ id });
      }
    }
  });
});
