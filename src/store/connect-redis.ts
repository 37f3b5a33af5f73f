import { RESP_TYPES } from "redis";
import type { RedisConnection, RedisTarget } from "./connection.ts";
import { connectRouted } from "./routed-connection.ts";
import { connectSingle } from "./single-connection.ts";
import { clusterTopology, sentinelTopology } from "./topology.ts";

export interface ConnectOptions {
  readonly target: RedisTarget;
  /**
   * Replicas that must hold a durable write before it is answered, and how long they may take. Sentinel and Cluster only:
   * a server alone has nobody to take over. Default: none.
   */
  readonly replicas?: { readonly count: number; readonly timeoutMs: number };
  /**
   * How long a command waits for a connection that it can be sent on, in milliseconds. Then it fails as Unavailable and is
   * never sent: its caller has long gone elsewhere. Default 15,000.
   */
  readonly patienceMs?: number;
  /**
   * How long a server may answer nothing at all while it is asked, in milliseconds. Then what is under way fails as
   * Unavailable, and it is connected to anew. Sentinels and clusters mostly say sooner that a server is gone; not where
   * nobody can take over. Default 15,000.
   */
  readonly stallMs?: number;
  /** Connection errors; the client keeps reconnecting with at most 1 s between tries. */
  onError?(error: unknown): void;
}

// RESP 2: replies are arrays, as the scripts see them, whatever the command.
const TYPE_MAPPING = { [RESP_TYPES.BLOB_STRING]: Buffer } as const;

const PATIENCE_MS = 15_000;
const STALL_MS = 15_000;

/** Connects for commands and, on a connection of its own, for channels. */
export async function connectRedis(options: ConnectOptions): Promise<RedisConnection> {
  const { target, patienceMs = PATIENCE_MS, stallMs = STALL_MS } = options;
  if (target.kind === "single" || target.kind === "socket") {
    return connectSingle(target, {
      patienceMs,
      stallMs,
      onError: (error) => options.onError?.(error),
    });
  }
  const node = {
    ...(target.username === undefined ? {} : { username: target.username }),
    ...(target.password === undefined ? {} : { password: target.password }),
    ...(target.kind === "cluster" && target.tls === true ? { tls: true } : {}),
  };
  const topology =
    target.kind === "cluster"
      ? clusterTopology(target.nodes, node)
      : sentinelTopology(target.name, target.nodes, node);
  return connectRouted({
    topology,
    node,
    typeMapping: TYPE_MAPPING,
    patienceMs,
    stallMs,
    replicas: options.replicas ?? { count: 0, timeoutMs: 1000 },
    onError: (error) => options.onError?.(error),
  });
}
