/**
 * Deliveries per second against raw undici POSTs to the same receiver, in the same run.
 *
 *   node bench/push.ts [--tasks 400] [--events 5] [--rounds 3]
 *
 * Both sides POST the same bodies over TLS to one receiver in a process of its own. `raw` is an undici Pool and nothing
 * else. `push` is all of it: every event was committed to a Redis with an append-only file, and goes from the outbox
 * through lanes and queue to the receiver, is checked by the egress guard, and its outcome is recorded. The host limiter
 * is off, since it would be what is measured. Rounds alternate; the median counts.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { Pool } from "undici";
import { testAuthority } from "../test/push/receiver.ts";
import { startRig } from "../test/push/rig.ts";

const { values } = parseArgs({
  options: {
    tasks: { type: "string", default: "400" },
    events: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
  },
});
const tasks = Number(values.tasks);
const events = Number(values.events);
const rounds = Number(values.rounds);
const total = tasks * events;

const child = fork(new URL("./push-receiver.ts", import.meta.url));
child.send(testAuthority().issue({ addresses: ["127.0.0.1"] }));
const [{ port }] = (await once(child, "message")) as [{ port: number }];
const url = `https://127.0.0.1:${port}/hook`;

async function received(count: number): Promise<void> {
  child.send({ until: count });
  await once(child, "message");
}

async function raw(body: string): Promise<number> {
  const pool = new Pool(`https://127.0.0.1:${port}`, {
    connections: 64,
    pipelining: 1,
    allowH2: false,
    connect: { ca: testAuthority().ca },
  });
  const headers = { "content-type": "application/a2a+json", authorization: "Bearer secret" };
  let left = total;
  const done = received(total);
  const started = performance.now();
  const one = async () => {
    while (left-- > 0) {
      const { body: answer } = await pool.request({ method: "POST", path: "/hook", headers, body });
      await answer.dump();
    }
  };
  await Promise.all([...Array(64)].map(one));
  await done;
  const seconds = (performance.now() - started) / 1000;
  await pool.close();
  return total / seconds;
}

async function push(): Promise<{
  readonly perSecond: number;
  readonly liveP50: number;
  readonly liveP99: number;
}> {
  const rig = await startRig({ start: false, push: { timeoutSeconds: 10 } });
  const ids: string[] = [];
  for (let i = 0; i < tasks; i++) ids.push(await rig.begin({ url, scheme: "Bearer", credentials: "secret" }));
  for (const id of ids) await rig.claim(id);
  for (let i = 2; i < events; i++) await Promise.all(ids.map((id) => rig.say(id, `step ${i}`)));
  const done = received(total);
  const started = performance.now();
  await rig.push.start();
  await done;
  const seconds = (performance.now() - started) / 1000;
  const delays = await live(rig, ids.slice(0, 50));
  await rig.stop();
  return { perSecond: total / seconds, ...delays };
}

/** From commit to the receiver's answer, with few pushes under way. */
async function live(rig: Awaited<ReturnType<typeof startRig>>, ids: readonly string[]) {
  const delays: number[] = [];
  for (const id of ids) {
    const done = received(1);
    const started = performance.now();
    await rig.say(id, "live");
    await done;
    delays.push(performance.now() - started);
  }
  delays.sort((a, b) => a - b);
  return { liveP50: delays[Math.floor(delays.length / 2)] ?? 0, liveP99: delays.at(-1) ?? 0 };
}

const sample = JSON.stringify({
  statusUpdate: {
    taskId: "td_00000000-0000-0000-0000-000000000000",
    contextId: "context",
    status: { state: "TASK_STATE_WORKING", timestamp: new Date().toISOString() },
  },
});
const results: { raw: number; push: number; liveP50: number; liveP99: number }[] = [];
for (let i = 0; i < rounds; i++) {
  const rawRate = await raw(sample);
  const { perSecond, ...delays } = await push();
  results.push({ raw: rawRate, push: perSecond, ...delays });
}
child.kill();
const median = (pick: (result: (typeof results)[number]) => number) =>
  results.map(pick).sort((a, b) => a - b)[Math.floor(results.length / 2)] ?? 0;
console.log(
  JSON.stringify({
    tasks,
    events,
    rounds,
    rawPerSecond: Math.round(median((result) => result.raw)),
    pushPerSecond: Math.round(median((result) => result.push)),
    ratio: Number(median((result) => result.push / result.raw).toFixed(3)),
    commitToAnswerP50Ms: Number(median((result) => result.liveP50).toFixed(1)),
    commitToAnswerP99Ms: Number(median((result) => result.liveP99).toFixed(1)),
  }),
);
