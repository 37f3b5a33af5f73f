/** Puts logs and metrics of calls together, and gathers what is only counted when somebody asks. */
import type { Config } from "../config/schema.ts";
import type { Push } from "../push/push.ts";
import type { RedisConnection } from "../store/connection.ts";
import { queueDepth } from "../store/queue-depths.ts";
import { logCalls } from "../telemetry/call-log.ts";
import { type CallObserver, observers } from "../telemetry/calls.ts";
import type { MetricFamily, Sample } from "../telemetry/exposition.ts";
import { createMetrics, type Metrics, printMetrics } from "../telemetry/metrics.ts";
import type { HttpHandler } from "../transports/http-handler.ts";
import type { ServerLog } from "./log.ts";
import type { OpenWopAgents } from "./openwop-agents.ts";
import { followerFamilies } from "./openwop-metrics.ts";
import { pushFamilies } from "./push-metrics.ts";
import { programVersion } from "./version.ts";
import type { Siblings } from "./workers/siblings.ts";

export interface TelemetryOptions {
  readonly config: Config;
  readonly redis: RedisConnection;
  readonly push: Push | undefined;
  /** The followers of runs, by agent. */
  followers: OpenWopAgents["followers"];
  readonly log: (ServerLog & { info(fields: object, message: string): void }) | undefined;
  openStreams(): number;
  /** Why the gateway is not ready; empty while it is. */
  readiness(): Promise<readonly string[]>;
  onError(error: unknown): void;
}

export interface Telemetry {
  readonly observe: CallObserver | undefined;
  readonly metrics: Metrics | undefined;
}

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { log: logging, metrics: measuring } = options.config.telemetry;
  const metrics = measuring.enabled
    ? createMetrics({
        version: programVersion(),
        extra: () => gather(options),
        onError: options.onError,
      })
    : undefined;
  const { log } = options;
  const written = log === undefined || logging.calls === "none" ? undefined : logCalls(log, logging.calls);
  return { metrics, observe: observers(metrics?.observeCall, written) };
}

/** `GET /metrics`, for the admin port: of this process, or of all that are one gateway together. */
export function createMetricsHandler(metrics: Metrics, siblings?: Siblings): HttpHandler {
  return async (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0];
    if (path !== "/metrics" || (request.method !== "GET" && request.method !== "HEAD")) return false;
    const all = siblings === undefined ? [await metrics.snapshot()] : await siblings.metrics();
    const body = await printMetrics(all);
    response.statusCode = 200;
    response.setHeader("content-type", metrics.contentType);
    response.setHeader("content-length", String(Buffer.byteLength(body)));
    if (request.method === "HEAD") response.end();
    else response.end(body);
    return true;
  };
}

function gauge(
  name: string,
  help: string,
  samples: readonly Sample[],
  merge: MetricFamily["merge"] = "first",
): MetricFamily {
  return { name, help, type: "gauge", samples, merge };
}

/** Longest wait for Redis in a scrape, in milliseconds: a scrape without it still tells that it is gone. */
const REDIS_MS = 2000;

async function gather(options: TelemetryOptions): Promise<readonly MetricFamily[]> {
  const reasons = await options.readiness();
  const own = [
    gauge(
      "baton_ready",
      "1 while /readyz would answer 200",
      [{ value: reasons.length === 0 ? 1 : 0 }],
      "min",
    ),
    gauge("baton_streams_open", "Open streams of this gateway", [{ value: options.openStreams() }], "sum"),
  ];
  const { push } = options;
  const followed = followerFamilies(options.followers());
  const counted = push === undefined ? [] : pushFamilies(push.metrics, push.underWay);
  const stored = await Promise.race([fromRedis(options), after(REDIS_MS)]).catch(() => undefined);
  const answered = [{ value: stored === undefined ? 0 : 1 }];
  const up = gauge("baton_redis_up", "1 while Redis answered this scrape", answered, "min");
  return [...own, ...counted, ...followed, up, ...(stored ?? [])];
}

/** What is the same on every replica, because it is the state of Redis. */
async function fromRedis({ config, redis, push }: TelemetryOptions): Promise<readonly MetricFamily[]> {
  const begun = performance.now();
  await redis.run("baton:", ["PING"]);
  const roundTrip = (performance.now() - begun) / 1000;

  const agents = Object.entries(config.agents);
  const queues = agents.flatMap(([agent, { queues: names, backend }]) =>
    backend === "todo" ? names.map((queue) => ({ agent, queue })) : [],
  );
  const depths = await Promise.all(
    queues.map(async (labels) => ({ labels, depth: await queueDepth(redis, labels.agent, labels.queue) })),
  );
  const now = Date.now();
  const age = (since: number | undefined) => (since === undefined ? 0 : Math.max(0, (now - since) / 1000));
  const families = [
    gauge("baton_redis_round_trip_seconds", "Round trip to Redis, measured by this scrape", [
      { value: roundTrip },
    ]),
    gauge(
      "baton_todos",
      "Todos by agent, queue and state: ready, delayed, leased, waiting (for an answer), dead",
      depths.flatMap(({ labels, depth }) =>
        Object.entries(depth.counts).map(([state, value]) => ({ labels: { ...labels, state }, value })),
      ),
    ),
    gauge(
      "baton_oldest_ready_age_seconds",
      "Age of the todo that is next in line, since it was created; 0 while none waits",
      depths.map(({ labels, depth }) => ({ labels, value: age(depth.oldestReadyAt) })),
    ),
  ];
  if (push === undefined) return families;
  const reports = await Promise.all(
    agents.map(async ([agent]) => ({ labels: { agent }, report: await push.lanes.report(agent, 1) })),
  );
  return [
    ...families,
    gauge(
      "baton_push_waiting",
      "Pushes by agent and place: lane (push configs with work), outbox (entries not yet relayed), dead",
      reports.flatMap(({ labels, report: { lanes, outbox, dead } }) => [
        { labels: { ...labels, place: "lane" }, value: lanes },
        { labels: { ...labels, place: "outbox" }, value: outbox },
        { labels: { ...labels, place: "dead" }, value: dead },
      ]),
    ),
    gauge(
      "baton_push_oldest_age_seconds",
      "Age of the push that has waited longest, since its event; 0 while none waits",
      reports.map(({ labels, report }) => ({ labels, value: age(report.oldest[0]?.oldestAt) })),
    ),
  ];
}

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms, undefined).unref());
}
