import { createClient, RESP_TYPES } from "redis";
import { storeFault } from "./redis-faults.ts";
import { connectRouted } from "./routed-connection.ts";
import { clusterTopology, sentinelTopology } from "./topology.ts";

/** A reply with bulk strings as Buffers. */
export type Reply = Buffer | number | string | null | Reply[];

/** Where Redis is. Exactly one way to reach it. */
export type RedisTarget =
  | { readonly kind: "single"; readonly url: string }
  | { readonly kind: "socket"; readonly path: string }
  | {
      readonly kind: "sentinel";
      readonly name: string;
      readonly nodes: readonly { readonly host: string; readonly port: number }[];
      readonly username?: string;
      readonly password?: string;
    }
  | {
      readonly kind: "cluster";
      readonly nodes: readonly { readonly host: string; readonly port: number }[];
      readonly username?: string;
      readonly password?: string;
      readonly tls?: boolean;
    };

export type ChannelListener = (payload: Buffer) => void;

export interface RunOptions {
  /** Answer only once the configured number of replicas holds the write (see {@link ConnectOptions.replicas}). */
  readonly durable?: boolean;
}

/** What the store needs of Redis: routed commands and sharded channels. */
export interface RedisConnection {
  /** Runs a command on the node that owns `key`. Auto-pipelined with others of the same tick. */
  run(key: string, args: readonly (string | Buffer)[], options?: RunOptions): Promise<Reply>;
  subscribe(channel: string, listener: ChannelListener): Promise<void>;
  unsubscribe(channel: string, listener: ChannelListener): Promise<void>;
  /** Called after each reconnect of the subscriber, when messages may have been missed. */
  onSubscriberReconnect(callback: () => void): void;
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly target: RedisTarget;
  /**
   * Replicas that must hold a durable write before it is answered, and how long they may take. Sentinel and Cluster only:
   * a server alone has nobody to take over. Default: none.
   */
  readonly replicas?: { readonly count: number; readonly timeoutMs: number };
  /** Connection errors; the client keeps reconnecting with at most 1 s between tries. */
  onError?(error: unknown): void;
}

// RESP 2: replies are arrays, as the scripts see them, whatever the command.
const TYPE_MAPPING = { [RESP_TYPES.BLOB_STRING]: Buffer } as const;

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
        return (await commands.sendCommand(args)) as unknown as Reply;
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
