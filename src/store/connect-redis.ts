import { createClient, RESP_TYPES } from "redis";
import type { RedisConnection, RedisTarget, Reply } from "./connection.ts";
import { Patience } from "./patience.ts";
import { storeFault } from "./redis-faults.ts";
import { connectRouted } from "./routed-connection.ts";
import { clusterTopology, sentinelTopology } from "./topology.ts";

export interface ConnectOptions {
  readonly target: RedisTarget;
  /**
   * Replicas that must hold a durable write before it is answered, and how long they may take. Sentinel and Cluster only:
   * a server alone has nobody to take over. Default: none.
   */
  readonly replicas?: { readonly count: number; readonly timeoutMs: number };
  /**
   * One server: how long a command waits for a connection that it can be sent on, in milliseconds. Then it fails as
   * Unavailable and is never sent: its caller has long gone elsewhere. Default 15,000.
   */
  readonly patienceMs?: number;
  /** Connection errors; the client keeps reconnecting with at most 1 s between tries. */
  onError?(error: unknown): void;
}

// RESP 2: replies are arrays, as the scripts see them, whatever the command.
const TYPE_MAPPING = { [RESP_TYPES.BLOB_STRING]: Buffer } as const;

const PATIENCE_MS = 15_000;

function reconnectStrategy(retries: number): number {
  return Math.min(50 * 2 ** Math.min(retries, 5), 1000);
}

/** Connects for commands and, on a connection of its own, for channels. */
export async function connectRedis(options: ConnectOptions): Promise<RedisConnection> {
  const { target } = options;
  if (target.kind === "single" || target.kind === "socket") return connectSingle(target, options);
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
    replicas: options.replicas ?? { count: 0, timeoutMs: 1000 },
    onError: (error) => options.onError?.(error),
  });
}

async function connectSingle(
  target: Extract<RedisTarget, { kind: "single" | "socket" }>,
  options: ConnectOptions,
): Promise<RedisConnection> {
  const address = target.kind === "single" ? { url: target.url } : {};
  const socket = target.kind === "socket" ? { path: target.path, tls: false as const } : {};
  const base = { ...address, socket: { ...socket, reconnectStrategy } };
  const commands = createClient({ ...base, RESP: 2, commandOptions: { typeMapping: TYPE_MAPPING } });
  const channels = createClient(base);
  const patience = new Patience(options.patienceMs ?? PATIENCE_MS);
  const reconnects: (() => void)[] = [];
  commands.on("error", (error) => options.onError?.(error));
  channels.on("error", (error) => options.onError?.(error));
  channels.on("ready", () => {
    for (const callback of reconnects) callback();
  });
  await Promise.all([commands.connect(), channels.connect()]);
  return {
    async run(_key, args) {
      try {
        // The client's own timeout is a timer for each command.
        const waiting = { timeout: 0, abortSignal: patience.signal };
        return (await commands.sendCommand(args, waiting)) as unknown as Reply;
      } catch (error) {
        throw storeFault(error);
      }
    },
    subscribe: (channel, listener) => channels.sSubscribe(channel, listener, true),
    unsubscribe: (channel, listener) => channels.sUnsubscribe(channel, listener, true),
    onSubscriberReconnect: (callback) => reconnects.push(callback),
    async close() {
      channels.destroy();
      await commands.close().catch(() => commands.destroy());
    },
  };
}
