/**
 * Both senders of the push row. `push` is all of it, below the services: events were committed to a Redis with an
 * append-only file, and go from the outbox through lanes and queue to the receiver; each is checked by the egress guard,
 * and its outcome is recorded. `raw` is an undici Pool and nothing else.
 */
import { Pool } from "undici";
import { testAuthority } from "../../test/push/receiver.ts";
import { type PushRig, startRig } from "../../test/push/rig.ts";
import { Program, pin } from "../processes.ts";
import { ready } from "../program.ts";
import { percentile } from "../rows/row.ts";

const RAW_CONNECTIONS = 64;
/** Tasks whose delays are looked at while nothing else is under way. */
const LIVE = 50;

const tls = testAuthority().issue({ addresses: ["127.0.0.1"] });
const receiver = await Program.start("load", "./servers/push-receiver.ts", tls);
const { port } = receiver.about as { port: number };
const origin = `https://127.0.0.1:${port}`;

const SAMPLE = JSON.stringify({
  statusUpdate: {
    taskId: "td_00000000-0000-0000-0000-000000000000",
    contextId: "context",
    status: { state: "TASK_STATE_WORKING", timestamp: new Date().toISOString() },
  },
});

/** POSTs per second. */
async function raw(total: number): Promise<number> {
  const pool = new Pool(origin, {
    connections: RAW_CONNECTIONS,
    pipelining: 1,
    allowH2: false,
    connect: { ca: testAuthority().ca },
  });
  const headers = { "content-type": "application/a2a+json", authorization: "Bearer secret" };
  let left = total;
  const done = receiver.call("until", total);
  const started = performance.now();
  const loop = async () => {
    while (left-- > 0) {
      const { body } = await pool.request({ method: "POST", path: "/hook", headers, body: SAMPLE });
      await body.dump();
    }
  };
  await Promise.all(Array.from({ length: RAW_CONNECTIONS }, loop));
  await done;
  const seconds = (performance.now() - started) / 1000;
  await pool.close();
  return total / seconds;
}

/** Delays in milliseconds from a commit to the receiver's count, with nothing else under way. */
export interface Pushed {
  readonly perSecond: number;
  readonly liveP50: number;
  readonly liveP99: number;
}

let rig: PushRig | undefined;
let ids: string[] = [];

/** Commits everything that will be pushed. */
async function prepare({ tasks, events }: { tasks: number; events: number }): Promise<void> {
  const fresh = await startRig({ start: false, push: { timeoutSeconds: 10 } });
  pin(fresh.redis.server.pid, "load");
  rig = fresh;
  const config = { url: `${origin}/hook`, scheme: "Bearer", credentials: "secret" };
  ids = [];
  for (let i = 0; i < tasks; i += 1) ids.push(await fresh.begin(config));
  for (const id of ids) await fresh.claim(id);
  for (let i = 2; i < events; i += 1) await Promise.all(ids.map((id) => fresh.say(id, `step ${i}`)));
}

async function push(total: number): Promise<Pushed> {
  if (rig === undefined) throw new Error("nothing was prepared");
  const done = receiver.call("until", total);
  const started = performance.now();
  await rig.push.start();
  await done;
  const seconds = (performance.now() - started) / 1000;
  const delays: number[] = [];
  for (const id of ids.slice(0, LIVE)) {
    const one = receiver.call("until", 1);
    const begun = performance.now();
    await rig.say(id, "live");
    await one;
    delays.push(performance.now() - begun);
  }
  delays.sort((a, b) => a - b);
  await rig.stop();
  rig = undefined;
  return {
    perSecond: total / seconds,
    liveP50: percentile(delays, 0.5),
    liveP99: percentile(delays, 0.99),
  };
}

ready({}, { raw, prepare, push }, () => receiver.stop());
