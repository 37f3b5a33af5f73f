/**
 * Push notifications: registration, the way from outbox to receiver, and what operators see of it. One object for each
 * process; `roles` that only take registrations start no relay and no worker.
 * @module
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Config } from "../config/schema.ts";
import {
  compilePolicy,
  createEgressClient,
  type EgressClient,
  type EgressClientOptions,
  type EgressResolver,
} from "../egress/index.ts";
import type { RedisConnection, RedisTarget } from "../store/connection.ts";
import { PushConfigStore } from "../store/push-configs.ts";
import { PushDeadLetterStore } from "../store/push-dead-letters.ts";
import { type LaneTurn, PushLaneStore } from "../store/push-lanes.ts";
import type { LaneLimits } from "../store/push-steps.ts";
import { TokenBuckets } from "../store/token-buckets.ts";
import type { Tracer } from "../telemetry/tracing/span.ts";
import { PushRegistrar } from "./configs.ts";
import { DecisionLog, type PushLog, SILENT } from "./decision-log.ts";
import { WAITERS_PER_SLOT } from "./destinations.ts";
import { LaneQueue } from "./lane-queue.ts";
import { LaneWorker } from "./lane-worker.ts";
import { PushMetrics } from "./metrics.ts";
import { OutboxRelay } from "./relay.ts";
import type { BodyPrinters } from "./request.ts";
import type { SecretBox } from "./secret-box.ts";

export interface PushOptions {
  readonly config: Config;
  readonly redis: RedisConnection;
  /** BullMQ has connections of its own. */
  readonly target: RedisTarget;
  readonly box: SecretBox;
  readonly printers: BodyPrinters;
  /** Where this gateway listens: refused as a destination. Asked at the first check, when the ports are known. */
  ownListeners?(): readonly { readonly address: string; readonly port: number }[];
  /** Default: the machine's DNS. */
  readonly resolver?: EgressResolver;
  readonly log?: PushLog;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

export interface Push {
  readonly registrar: PushRegistrar;
  readonly configs: PushConfigStore;
  readonly lanes: PushLaneStore;
  readonly deadLetters: PushDeadLetterStore;
  readonly metrics: PushMetrics;
  /** What the operator opened in the egress guard, one sentence each. */
  readonly exceptions: readonly string[];
  /** Pushes whose request is under way in this process. */
  readonly underWay: number;
  /** Queues lanes to be worked, as after a replay. */
  queue(agent: string, turns: readonly LaneTurn[]): Promise<void>;
  /** Why this process does not deliver as it should; empty while it does. */
  problems(): Promise<readonly string[]>;
  start(): Promise<void>;
  /** Stops intake, lets requests under way end within `graceMs`, closes queues, then clients (B14). */
  stop(graceMs?: number): Promise<void>;
}

/** A lane that waits for longer, in milliseconds, while this process gets no job, is a sign of a dead consumer (B4). */
const SILENCE_MS = 60_000;

/** What a stop may take beyond the grace of its requests, in milliseconds. */
const STOP_MARGIN_MS = 2000;

export function createPush(options: PushOptions): Push {
  const { config, redis, box, printers } = options;
  const settings = config.push;
  const log = options.log ?? SILENT;
  const metrics = new PushMetrics();
  const decisions = new DecisionLog(log, metrics);
  const onError = (error: unknown) => log.error({ err: error }, "push: background work failed");
  const policyInput = {
    ports: settings.ports,
    allow: settings.allow.map(({ cidr, ports, plaintext }) => ({
      cidr,
      plaintext,
      ...(ports === undefined ? {} : { ports }),
    })),
    allowNames: settings.allowNames,
    nat64Prefixes: settings.nat64Prefixes,
  };
  const policy = compilePolicy(policyInput);
  for (const exception of policy.exceptions) log.warn({}, exception);
  const timeoutMs = settings.timeoutSeconds * 1000;
  const extraCa = settings.caFiles.map((file) => readFileSync(file, "utf8"));
  const egress = lateEgress(() => ({
    policy: compilePolicy({ ...policyInput, ownListeners: options.ownListeners?.() ?? [] }),
    extraCa,
    timeouts: { totalMs: timeoutMs, headersMs: timeoutMs, connectMs: Math.min(4000, timeoutMs) },
    connectionsPerDestination: 64,
    ...(options.resolver === undefined ? {} : { resolver: options.resolver }),
  }));
  const keepMs = settings.replaySeconds * 1000;
  // Longer than waiting for a slot and an attempt can take together, so that no lease ends under a living worker.
  const leaseMs = timeoutMs * 1.5 + 3000;
  const limits: LaneLimits = {
    depth: settings.laneDepth,
    bytes: settings.laneBytes,
    leaseMs,
    keepMs,
    deadMs: settings.deadLetterSeconds * 1000,
    deadCount: settings.deadLetterCount,
    deadBytes: settings.deadLetterBytes,
  };
  const lanes = new PushLaneStore(redis, limits);
  const agents = Object.keys(config.agents);
  const worker = new LaneWorker({
    lanes,
    egress,
    box,
    printers,
    settings,
    metrics,
    decisions,
    log,
    tracer: options.tracer,
    contentOf: (agent) => config.agents[agent]?.pushContent ?? "references",
    holder: randomUUID(),
  });
  let queue: LaneQueue | undefined;
  const relay = new OutboxRelay({ lanes, agents, metrics, queue: enqueue, onError });

  async function enqueue(agent: string, turns: readonly LaneTurn[]): Promise<void> {
    if (queue === undefined) return;
    await queue.add(agent, turns);
  }

  return {
    registrar: new PushRegistrar({
      box,
      egress,
      buckets: new TokenBuckets(redis),
      settings,
      metrics,
      decisions,
    }),
    configs: new PushConfigStore(redis, { keepMs }),
    lanes,
    deadLetters: new PushDeadLetterStore(redis, limits),
    metrics,
    exceptions: policy.exceptions,
    get underWay() {
      return worker.underWay;
    },
    queue: enqueue,
    async problems() {
      if (queue === undefined || Date.now() - queue.lastFetchAt < SILENCE_MS) return [];
      const reports = await Promise.all(agents.map((agent) => lanes.report(agent, 1)));
      const silent = reports.some(({ oldest: [lane] }) => {
        return lane !== undefined && lane.note === "" && Date.now() - lane.oldestAt > SILENCE_MS;
      });
      return silent ? ["pushes wait, but the push queue hands out no work"] : [];
    },
    async start() {
      queue = new LaneQueue({
        target: options.target,
        // Lanes under way and those that wait for a slot.
        concurrency: settings.concurrency * (1 + WAITERS_PER_SLOT),
        leaseMs,
        run: (agent, turn) => worker.run(agent, turn),
        onError,
      });
      await queue.ready();
      await warnOfEviction(redis, log);
      await Promise.all(agents.map((agent) => lanes.onGone(agent, (ref) => worker.forget(ref))));
      await relay.start();
    },
    async stop(graceMs = 5000) {
      worker.stop();
      const timer = setTimeout(() => worker.interrupt(), graceMs);
      const orderly = async () => {
        await relay.stop();
        await queue?.pause();
        await queue?.close();
        return true;
      };
      // Without Redis nothing can be put back; then the leases run out, and another process goes on.
      const late = Promise.withResolvers<false>();
      const limit = setTimeout(() => late.resolve(false), graceMs + STOP_MARGIN_MS);
      if (!(await Promise.race([orderly().catch(() => false), late.promise]))) queue?.abandon();
      clearTimeout(timer);
      clearTimeout(limit);
      await egress.close();
    },
  };
}

/** An eviction policy drops keys of jobs and lanes when memory is short (B11). */
async function warnOfEviction(redis: RedisConnection, log: PushLog): Promise<void> {
  const memory = String(await redis.run("baton:", ["INFO", "memory"]));
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? "noeviction";
  if (policy === "noeviction") return;
  log.warn({ policy }, "Redis may evict pushes that wait: set maxmemory-policy to noeviction");
}

/** A client that is made when it is first used. */
function lateEgress(make: () => EgressClientOptions): EgressClient {
  let made: EgressClient | undefined;
  const client = (): EgressClient => {
    made ??= createEgressClient(make());
    return made;
  };
  return {
    check: (url, options) => client().check(url, options),
    post: (request) => client().post(request),
    get: (request) => client().get(request),
    close: async () => made?.close(),
  };
}
