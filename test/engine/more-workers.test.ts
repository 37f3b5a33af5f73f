/** Work is limited by workers, and not by the gateway between them: more of them do more. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { Peer, TestWorker, workerTransport } from "../scenarios/actors.ts";
import { grpcDriver } from "../scenarios/drivers/grpc.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway?.stop());

/** How long the work itself takes, in milliseconds: far longer than the calls around it. */
const WORK_MS = 150;
const TODOS = 16;

/** Milliseconds until so many workers have done all. */
async function timeOf(workers: number): Promise<number> {
  const driver = await grpcDriver.connect({ url: gateway.url, authority: new URL(gateway.url).host });
  const peer = new Peer(driver, { token: await gateway.vend() });
  for (let index = 0; index < TODOS; index += 1) await peer.start();
  const token = await gateway.vendWorker();
  let done = 0;
  const begun = performance.now();
  const one = async (name: string) => {
    const { client } = new TestWorker(workerTransport(gateway.url, token));
    while (done < TODOS) {
      const { todo } = await client.claim({ claimant: name });
      if (todo === undefined) return;
      await sleep(WORK_MS);
      await client.complete({ id: todo.id });
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, index) => one(`worker ${index}`)));
  expect(done).toBe(TODOS);
  await driver.close();
  return performance.now() - begun;
}

it("B19 two, four and eight workers do the same load in about half the time each", async () => {
  const times: number[] = [];
  for (const workers of [1, 2, 4, 8]) times.push(await timeOf(workers));
  const [alone = 0, ...more] = times;
  // Half of what would be perfect, on machines that have other things to do.
  for (const [index, time] of more.entries()) {
    expect(alone / time, `${times.map(Math.round)} ms`).toBeGreaterThan(2 ** (index + 1) / 2);
  }
});
