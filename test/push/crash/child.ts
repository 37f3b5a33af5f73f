/**
 * The process that is hit: commits events and delivers them, on a Redis that it does not own. At the planned point it
 * kills itself, or asks its parent to kill Redis and goes on when that is done.
 */
import { once } from "node:events";
import { startRig } from "../rig.ts";
import type { CrashPlan, KillPoint } from "./points.ts";
import { attachRedis } from "./redis.ts";

export interface ChildOrder {
  readonly socketPath: string;
  readonly url: string;
  /** PEM of the receiver's authority. */
  readonly ca: string;
  /** Absent: bring every task to its end, wait until nothing is left to send, and exit. */
  readonly plan?: CrashPlan;
}

const [order] = (await once(process, "message")) as [ChildOrder];
const { plan } = order;
const redis = await attachRedis(order.socketPath);
// Short times, so that what a dead process held is free again soon.
const rig = await startRig({
  redis,
  ca: order.ca,
  start: false,
  push: { timeoutSeconds: 0.4, attempts: 30, capSeconds: 0.2 },
});

let passed = 0;
/** Called at every point; acts at the planned one. */
async function pass(point: KillPoint, before?: () => void): Promise<void> {
  if (plan === undefined || plan.point !== point || ++passed !== plan.nth) return;
  before?.();
  // Some turns of the loop, so that what was started is on its way: it is gathered in one and written in the next.
  for (let turn = 0; before !== undefined && turn < 3; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (plan.victim === "process") process.kill(process.pid, "SIGKILL");
  process.send?.({ kill: "redis" });
  await once(process, "message");
}

const { lanes } = rig.push;
const relay = lanes.relay.bind(lanes);
lanes.relay = async (agent) => {
  const result = await relay(agent);
  if (result.moved > 0) await pass("after-relay");
  return result;
};
const take = lanes.take.bind(lanes);
lanes.take = async (...args) => {
  const state = await take(...args);
  if (state.kind === "head") await pass("after-take");
  return state;
};
const settle = lanes.settle.bind(lanes);
lanes.settle = async (...args) => {
  const [, , , , settlement] = args;
  if (settlement.verb !== "delivered") return settle(...args);
  await pass("before-ack");
  let begun: ReturnType<typeof settle> | undefined;
  await pass("during-ack", () => {
    begun = settle(...args);
    begun.catch(() => undefined);
  });
  return begun ?? settle(...args);
};
await rig.push.start();
process.send?.({ ready: true });

/** A step that may find itself done: its first try may have reached Redis before the fault did. */
async function commit(step: () => Promise<unknown>): Promise<void> {
  await pass("before-commit");
  let begun: Promise<unknown> | undefined;
  await pass("during-commit", () => {
    begun = step();
    begun.catch(() => undefined);
  });
  for (let tries = 0; ; tries++) {
    try {
      await (begun ?? step());
      break;
    } catch (error) {
      begun = undefined;
      if (error instanceof Error && error.message === "conflict") break;
      if (tries > 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  await pass("after-commit");
}

if (plan === undefined) {
  const keys = (await rig.connection.run("x", ["KEYS", "baton:{default}:task:*:log"])) as unknown[];
  for (const key of keys) {
    const id = String(key).slice("baton:{default}:task:".length, -":log".length);
    await rig.claim(id).catch(() => undefined);
    await rig.complete(id).catch(() => undefined);
  }
  for (let rest = 0; rest < 3; ) {
    const { lanes: busy, outbox } = await lanes.report("default", 1);
    rest = busy === 0 && outbox === 0 ? rest + 1 : 0;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await rig.push.stop(1000);
  process.exit(0);
}

for (let i = 0; i < plan.tasks; i++) {
  let id = "";
  await commit(async () => {
    id = await rig.begin({ url: order.url, scheme: "Bearer", credentials: "secret" });
  });
  await commit(() => rig.claim(id));
  for (let n = 0; n < plan.events; n++) await commit(() => rig.say(id, `step ${n}`));
  await commit(() => rig.complete(id));
}
process.send?.({ committed: true });
