/**
 * What receivers that hang do to the others: the delay from commit to arrival at 1,000 healthy receivers, without and
 * with 50 that accept and never answer.
 *
 *   node bench/push-isolation.ts [--healthy 1000] [--hanging 50] [--rate 200]
 *
 * Every receiver is a host of its own to the limiter, the breaker and the slots: a port of its own on one machine. The
 * hanging ones have twenty tasks each, so that they would take a thousand slots if they could.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { testAuthority } from "../test/push/receiver.ts";
import { type PushRig, startRig } from "../test/push/rig.ts";

const { values } = parseArgs({
  options: {
    healthy: { type: "string", default: "1000" },
    hanging: { type: "string", default: "50" },
    rate: { type: "string", default: "200" },
  },
});
const healthy = Number(values.healthy);
const hanging = Number(values.hanging);
const rate = Number(values.rate);
const HANGING_TASKS = 20;

const child = fork(new URL("./push-farm.ts", import.meta.url));
child.send({ tls: testAuthority().issue({ addresses: ["127.0.0.1"] }), healthy, hanging });
const [{ good, bad }] = (await once(child, "message")) as [{ good: number[]; bad: number[] }];
const urlOf = (port: number) => `https://127.0.0.1:${port}/hook`;

/** One push to each healthy receiver at a steady rate; delays from commit to arrival, in milliseconds, sorted. */
async function measure(rig: PushRig): Promise<number[]> {
  const committed = new Map<string, number>();
  child.send({ expect: good.length });
  const done = once(child, "message");
  const pending: Promise<void>[] = [];
  const started = performance.now();
  for (const [i, port] of good.entries()) {
    const wait = started + (i * 1000) / rate - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const at = Date.now();
    pending.push(rig.begin({ url: urlOf(port) }).then((id) => void committed.set(id, at)));
  }
  await Promise.all(pending);
  const [{ arrivals }] = (await done) as [{ arrivals: [id: string, at: number][] }];
  return arrivals.map(([id, at]) => at - (committed.get(id) ?? at)).sort((a, b) => a - b);
}

const at = (delays: readonly number[], share: number) =>
  delays[Math.min(delays.length - 1, Math.floor(delays.length * share))] ?? 0;

const rig = await startRig({ push: { timeoutSeconds: 10 } });
// Once to warm up: connections, compiled code.
await measure(rig);
const alone = await measure(rig);
for (const port of bad) for (let i = 0; i < HANGING_TASKS; i++) await rig.begin({ url: urlOf(port) });
await new Promise((resolve) => setTimeout(resolve, 500));
const heldBefore = rig.push.underWay;
const beside = await measure(rig);
console.log(
  JSON.stringify({
    healthy,
    hanging,
    underWayAtHanging: heldBefore,
    aloneMs: { p50: at(alone, 0.5), p99: at(alone, 0.99) },
    besideMs: { p50: at(beside, 0.5), p99: at(beside, 0.99) },
    p99Ratio: Number((at(beside, 0.99) / Math.max(1, at(alone, 0.99))).toFixed(2)),
  }),
);
child.kill();
await rig.push.stop(0);
await rig.redis.stop();
process.exit(0);
