import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObject,
  Registry,
} from "prom-client";
import { errorRow } from "../domain/errors.ts";
import type { CallObserver, EndedCall } from "./calls.ts";
import { type MetricFamily, mergeFamilies, printFamilies } from "./exposition.ts";

/** Seconds. Sends may block for as long as `send.maxWaitSeconds`. */
const CALL_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60];
const STREAM_BOUNDS = [0.1, 1, 10, 60, 300, 900, 3600, 14_400, 86_400];

export interface SweepRound {
  readonly agent: string;
  /** Records that were changed. */
  readonly changed: number;
  /** Milliseconds. */
  readonly ms: number;
  readonly failed: boolean;
}

/** What one process has counted, as data that another can add to its own. */
export interface MetricsSnapshot {
  /** What prom-client counts. */
  readonly own: readonly MetricObject[];
  readonly extra: readonly MetricFamily[];
}

/** What this process counts itself, and what it asks others for when it is scraped. */
export interface Metrics {
  readonly contentType: string;
  readonly observeCall: CallObserver;
  observeSweep(round: SweepRound): void;
  /** All families. `extra` is asked each time; what it throws costs its own families alone. */
  snapshot(): Promise<MetricsSnapshot>;
}

export interface MetricsOptions {
  readonly version: string;
  /** Families of other parts, gathered now. */
  readonly extra: () => Promise<readonly MetricFamily[]>;
  onError(error: unknown): void;
}

/** The status label is a gRPC code on every transport, so that one query covers all of them. */
export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const calls = new Histogram({
    name: "rpc_server_call_duration_seconds",
    help: "Unary calls, from dispatch to answer, by method, transport and gRPC status",
    labelNames: ["rpc_method", "rpc_response_status_code", "transport"],
    buckets: CALL_BOUNDS,
    registers,
  });
  const streams = new Histogram({
    name: "baton_stream_duration_seconds",
    help: "Streams that have ended, by method, transport and gRPC status",
    labelNames: ["rpc_method", "rpc_response_status_code", "transport"],
    buckets: STREAM_BOUNDS,
    registers,
  });
  const sweeps = new Counter({
    name: "baton_sweep_rounds_total",
    help: "Rounds of housekeeping in this process, by agent and result",
    labelNames: ["agent", "result"],
    registers,
  });
  const sweepChanges = new Counter({
    name: "baton_sweep_changes_total",
    help: "Records that housekeeping changed: retries that fell due, lapsed leases, expired questions, old tasks",
    labelNames: ["agent"],
    registers,
  });
  const sweepSeconds = new Histogram({
    name: "baton_sweep_duration_seconds",
    help: "Duration of a round of housekeeping",
    buckets: [0.001, 0.01, 0.1, 1, 10, 60],
    registers,
  });
  new Gauge({
    name: "baton_build_info",
    help: "1, with what is running in its labels",
    labelNames: ["version", "node"],
    aggregator: "first",
    registers,
  }).set({ version: options.version, node: process.version }, 1);

  return {
    contentType: registry.contentType,
    observeCall(call: EndedCall) {
      const status = call.outcome === "ok" ? "OK" : errorRow(call.outcome).grpc;
      const histogram = call.stream ? streams : calls;
      const labels = {
        rpc_method: call.method,
        rpc_response_status_code: status,
        transport: call.transport,
      };
      histogram.observe(labels, call.ms / 1000);
    },
    observeSweep({ agent, changed, ms, failed }) {
      sweeps.inc({ agent, result: failed ? "failed" : "ok" });
      sweepChanges.inc({ agent }, changed);
      sweepSeconds.observe(ms / 1000);
    },
    async snapshot() {
      const extra = await options.extra().catch((error: unknown) => {
        options.onError(error);
        return [];
      });
      return { own: await registry.getMetricsAsJSON(), extra };
    },
  };
}

/** The text format, of one process or of several that are one gateway: each metric says how it adds up. */
export async function printMetrics(snapshots: readonly MetricsSnapshot[]): Promise<string> {
  const own = registryOf(snapshots);
  return (await own.metrics()) + printFamilies(mergeFamilies(snapshots.map(({ extra }) => extra)));
}

/** Several snapshots as one. */
export async function addSnapshots(snapshots: readonly MetricsSnapshot[]): Promise<MetricsSnapshot> {
  const own = await registryOf(snapshots).getMetricsAsJSON();
  return { own, extra: mergeFamilies(snapshots.map(({ extra }) => extra)) };
}

/** The part of a snapshot that only grows: what is left of a process that has ended. */
export function countsOf({ own, extra }: MetricsSnapshot): MetricsSnapshot {
  // prom-client declares a numbered enum, and says words.
  const grows = (type: unknown) => type === "counter" || type === "histogram";
  return { own: own.filter(({ type }) => grows(type)), extra: extra.filter(({ type }) => grows(type)) };
}

function registryOf(snapshots: readonly MetricsSnapshot[]) {
  return AggregatorRegistry.aggregate(snapshots.map(({ own }) => [...own]));
}
