/** Many lanes that are queued at one moment share jobs; what holds for each lane holds all the same. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type PushReceiver, respond, startPushReceiver } from "./receiver.ts";
import { type PushRig, startRig } from "./rig.ts";

const TASKS = 80;
let rig: PushRig;
let hook: PushReceiver;

beforeAll(async () => {
  rig = await startRig({ start: false, push: { concurrency: 8 } });
  hook = await startPushReceiver({
    // Each first attempt of a third of the tasks fails, so that lanes of one job wait for different times.
    answer: (hit, response, count, request) => {
      const first = hit.headers["a2a-notification-attempt"] === "1";
      const unlucky = String(hit.headers["a2a-notification-id"]).charCodeAt(3) % 3 === 0;
      respond(first && unlucky ? 503 : 204)(hit, response, count, request);
    },
  });
});
afterAll(async () => {
  await rig.stop();
  await hook.close();
});

it("SB-76, SB-77 a burst beyond what one process works on arrives whole and in order, retries included", async () => {
  const ids = await Promise.all(Array.from({ length: TASKS }, () => rig.begin({ url: hook.url })));
  for (const id of ids) {
    await rig.claim(id);
    await rig.say(id, "step");
  }
  await rig.push.start();
  const delivered = () => rig.push.metrics.value("baton_push_outcomes_total", { outcome: "delivered" });
  const end = Date.now() + 60_000;
  while (delivered() < TASKS * 3 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(delivered()).toBe(TASKS * 3);
  for (const id of ids) {
    const seqs = hook.hits
      .filter(({ headers }) => String(headers["a2a-notification-id"]).startsWith(`${id}/`))
      .map(({ seq }) => seq);
    expect([...new Set(seqs)]).toEqual([1, 2, 3]);
    expect(seqs, "never back").toEqual(seqs.toSorted((a, b) => a - b));
  }
  expect((await rig.push.lanes.report("default", 1)).lanes).toBe(0);
}, 90_000);
