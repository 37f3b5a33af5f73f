/**
 * The crash matrix: one seeded run after the other, each with a real kill -9 of the delivering process or of Redis at
 * one point between commit and acknowledgement.
 *
 *   node test/push/crash/run.ts [--runs 200] [--from 0] [--parallel 2]
 *
 * A run holds when every event in the log of every task came to the receiver at least once, in order, and nothing came
 * that is not in a log.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { type PushReceiver, startPushReceiver, testAuthority } from "../receiver.ts";
import type { ChildOrder } from "./child.ts";
import { type CrashPlan, planOf } from "./points.ts";
import { type MortalRedis, startMortalRedis } from "./redis.ts";

export interface CrashReport {
  readonly plan: CrashPlan;
  /** The point was reached and the victim was killed. */
  readonly struck: boolean;
  readonly events: number;
  readonly repeated: number;
  /** What does not hold; empty for a good run. */
  readonly faults: readonly string[];
}

const RUN_LIMIT_MS = 60_000;

export async function runCrash(plan: CrashPlan): Promise<CrashReport> {
  const redis = await startMortalRedis();
  const hook = await startPushReceiver();
  try {
    const struck = await strike(plan, redis, hook);
    await drain(redis, hook);
    return { plan, struck, ...(await judge(redis, hook)) };
  } finally {
    await hook.close();
    await redis.stop();
  }
}

function spawnChild(order: ChildOrder): ChildProcess {
  const child = fork(new URL("./child.ts", import.meta.url));
  child.send(order);
  return child;
}

/** Runs the plan until the process is dead or has committed everything. True where the victim was hit. */
async function strike(plan: CrashPlan, redis: MortalRedis, hook: PushReceiver): Promise<boolean> {
  const child = spawnChild({ ...addresses(redis, hook), plan });
  let struck = false;
  let over = false;
  const kill = async () => {
    struck = true;
    if (plan.victim === "process") child.kill("SIGKILL");
    else await redis.crash();
  };
  if (plan.point === "mid-post") {
    hook.answer = (_hit, response, count) => {
      if (count + 1 !== plan.nth) response.writeHead(204).end();
      else void kill().then(() => response.writeHead(204).end());
    };
  }
  const ended = Promise.withResolvers<void>();
  child.on("message", (message: { kill?: string; committed?: boolean }) => {
    if (message.kill === "redis") void kill().then(() => child.connected && child.send({ goOn: true }));
    // The run may be over before everything is sent: what is left is for the next process.
    if (message.committed !== true) return;
    setTimeout(() => {
      over = true;
      child.kill("SIGKILL");
    }, 50);
  });
  child.on("exit", (_code, signal) => {
    if (signal === "SIGKILL" && !over) struck = true;
    ended.resolve();
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), RUN_LIMIT_MS);
  await ended.promise;
  clearTimeout(timer);
  return struck;
}

function addresses(redis: MortalRedis, hook: PushReceiver): ChildOrder {
  return { socketPath: redis.server.socketPath, url: hook.url, ca: testAuthority().ca };
}

async function drain(redis: MortalRedis, hook: PushReceiver): Promise<void> {
  hook.answer = (_hit, response) => response.writeHead(204).end();
  const child = spawnChild(addresses(redis, hook));
  const timer = setTimeout(() => child.kill("SIGKILL"), RUN_LIMIT_MS);
  await once(child, "exit");
  clearTimeout(timer);
}

/** Compares what came with what the logs say. */
async function judge(
  redis: MortalRedis,
  hook: PushReceiver,
): Promise<Pick<CrashReport, "events" | "repeated" | "faults">> {
  const connection = await redis.connect();
  const faults: string[] = [];
  const came = new Map<string, number[]>();
  for (const { body, seq } of hook.hits) {
    const { statusUpdate, artifactUpdate } = JSON.parse(body);
    const id = (statusUpdate ?? artifactUpdate).taskId as string;
    came.set(id, [...(came.get(id) ?? []), seq]);
  }
  let events = 0;
  const keys = (await connection.run("x", ["KEYS", "baton:{default}:task:*:log"])) as unknown[];
  for (const key of keys.map(String)) {
    const id = key.slice("baton:{default}:task:".length, -":log".length);
    const length = Number(await connection.run(key, ["XLEN", key]));
    const seqs = came.get(id) ?? [];
    came.delete(id);
    events += length;
    for (let seq = 1; seq <= length; seq++) if (!seqs.includes(seq)) faults.push(`${id}: ${seq} was lost`);
    seqs.forEach((seq, i) => {
      if (seq > length) faults.push(`${id}: ${seq} is not in the log`);
      const before = i === 0 ? 0 : (seqs[i - 1] ?? 0);
      // A repetition is of the last push or of one that was under way with it, never a jump ahead.
      if (seq > before + 1) faults.push(`${id}: ${seq} came after ${before}`);
      if (seq < before) faults.push(`${id}: ${seq} came again after ${before}`);
    });
  }
  for (const id of came.keys()) faults.push(`${id}: pushed without a log`);
  const dead = Number(await connection.run("x", ["ZCARD", "baton:{default}:push-dead"]));
  if (dead > 0) faults.push(`${dead} dead letters`);
  await connection.close();
  return { events, repeated: hook.hits.length - events, faults };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      runs: { type: "string", default: "200" },
      from: { type: "string", default: "0" },
      parallel: { type: "string", default: "2" },
    },
  });
  const seeds = Array.from({ length: Number(values.runs) }, (_, i) => Number(values.from) + i);
  const reports: CrashReport[] = [];
  const lane = async () => {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
      const report = await runCrash(planOf(seed));
      reports.push(report);
      if (report.faults.length > 0) console.log(JSON.stringify(report));
    }
  };
  await Promise.all(Array.from({ length: Number(values.parallel) }, lane));
  const sum = (pick: (report: CrashReport) => number) =>
    reports.reduce((total, report) => total + pick(report), 0);
  const bad = reports.filter(({ faults }) => faults.length > 0).length;
  console.log(
    JSON.stringify({
      runs: reports.length,
      struck: sum(({ struck }) => Number(struck)),
      events: sum(({ events }) => events),
      repeated: sum(({ repeated }) => repeated),
      bad,
    }),
  );
  process.exitCode = bad === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
