import { createClient, createCluster, createSentinel, RESP_TYPES } from "redis";

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

/** What the store needs of Redis: routed commands and sharded channels. */
export interface RedisConnection {
  /** Runs a command on the node that owns `key`. Auto-pipelined with others of the same tick. */
  run(key: string, args: readonly (string | Buffer)[]): Promise<Reply>;
  subscribe(channel: string, listener: ChannelListener): Promise<void>;
  unsubscribe(channel: string, listener: ChannelListener): Promise<void>;
  /** Called after each reconnect of the subscriber, when messages may have been missed. */
  onSubscriberReconnect(callback: () => void): void;
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly target: RedisTarget;
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
  if (target.kind === "cluster") return connectCluster(target, options);
  if (target.kind === "sentinel") return connectSentinel(target, options);
  return connectSingle(target, options);
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
    run: (_key, args) => commands.sendCommand(args) as Promise<Reply>,
    subscribe: (channel, listener) => channels.sSubscribe(channel, listener, true),
    unsubscribe: (channel, listener) => channels.sUnsubscribe(channel, listener, true),
    onSubscriberReconnect: (callback) => reconnects.push(callback),
    async close() {
      channels.destroy();
      await commands.close().catch(() => commands.destroy());
    },
  };
}

async function connectSentinel(
  target: Extract<RedisTarget, { kind: "sentinel" }>,
  options: ConnectOptions,
): Promise<RedisConnection> {
  const credentials = {
    ...(target.username === undefined ? {} : { username: target.username }),
    ...(target.password === undefined ? {} : { password: target.password }),
  };
  const sentinel = createSentinel({
    name: target.name,
    sentinelRootNodes: [...target.nodes],
    nodeClientOptions: { ...credentials, socket: { reconnectStrategy } },
    RESP: 2,
    commandOptions: { typeMapping: TYPE_MAPPING },
    masterPoolSize: 1,
    scanInterval: 1000,
    maxCommandRediscovers: 60,
  });
  const reconnects: (() => void)[] = [];
  sentinel.on("error", (error) => options.onError?.(error));
  sentinel.on("topology-change", () => {
    for (const callback of reconnects) callback();
  });
  await sentinel.connect();
  return {
    run: (_key, args) => sentinel.sendCommand(false, [...args]) as Promise<Reply>,
    subscribe: (channel, listener) => sentinel.sSubscribe(channel, listener, true),
    unsubscribe: (channel, listener) => sentinel.sUnsubscribe(channel, listener, true),
    onSubscriberReconnect: (callback) => reconnects.push(callback),
    close: async () => sentinel.destroy(),
  };
}

async function connectCluster(
  target: Extract<RedisTarget, { kind: "cluster" }>,
  options: ConnectOptions,
): Promise<RedisConnection> {
  const scheme = target.tls === true ? "rediss" : "redis";
  const cluster = createCluster({
    rootNodes: target.nodes.map(({ host, port }) => ({ url: `${scheme}://${host}:${port}` })),
    defaults: {
      ...(target.username === undefined ? {} : { username: target.username }),
      ...(target.password === undefined ? {} : { password: target.password }),
      socket: { reconnectStrategy },
    },
    RESP: 2,
    commandOptions: { typeMapping: TYPE_MAPPING },
  });
  const reconnects: (() => void)[] = [];
  cluster.on("error", (error) => options.onError?.(error));
  cluster.on("node-ready", () => {
    for (const callback of reconnects) callback();
  });
  await cluster.connect();
  return {
    run: (key, args) => cluster.sendCommand(key, false, [...args]) as Promise<Reply>,
    subscribe: (channel, listener) => cluster.sSubscribe(channel, listener, true),
    unsubscribe: (channel, listener) => cluster.sUnsubscribe(channel, listener, true),
    onSubscriberReconnect: (callback) => reconnects.push(callback),
    close: async () => cluster.destroy(),
  };
}
