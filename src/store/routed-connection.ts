import { ChannelHub, pause } from "./channel-hub.ts";
import type { ChannelListener, RedisConnection, Reply, RunOptions } from "./connection.ts";
import { redirectOf, storeFault, storeUnavailable } from "./redis-faults.ts";
import { type NodeOptions, RedisNodes } from "./redis-nodes.ts";
import type { Topology } from "./topology.ts";

export interface RoutedOptions {
  readonly topology: Topology;
  readonly node: NodeOptions;
  readonly typeMapping: object;
  readonly replicas: { readonly count: number; readonly timeoutMs: number };
  /** How long a command or subscription waits for a server that takes it, in milliseconds. */
  readonly patienceMs: number;
  /** How long a server may answer nothing at all while it is asked, in milliseconds; waiting for replicas comes on top. */
  readonly stallMs: number;
  onError(error: unknown): void;
}

/** How often the topology is looked at while nothing seems wrong, in milliseconds. */
const LOOK_MS = 1000;
const RETRY_MS = 100;

/**
 * Redis behind sentinels or as a cluster. Each command goes to the server that owns its key at that moment. One that no
 * server has begun is sent again when the owner changes; one that was under way when its connection broke fails, since it
 * may have run. So does one whose server says nothing any more, and that nobody takes over for.
 */
export async function connectRouted(options: RoutedOptions): Promise<RedisConnection> {
  const connection = new RoutedConnection(options);
  try {
    await connection.start();
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

class RoutedConnection implements RedisConnection {
  readonly #options: RoutedOptions;
  readonly #nodes: RedisNodes;
  readonly #channels: ChannelHub;
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #listening: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: RoutedOptions) {
    this.#options = options;
    this.#nodes = new RedisNodes(options.node, options.typeMapping, (_address, _node, error) => {
      options.onError(error);
      void this.#look();
    });
    this.#channels = new ChannelHub(options);
  }

  async start(): Promise<void> {
    const until = Date.now() + this.#options.patienceMs;
    while (this.#options.topology.owners().size === 0) {
      await this.#look();
      if (this.#options.topology.owners().size > 0) break;
      if (Date.now() > until) throw new Error("no server of the configured Redis answers");
      await pause(RETRY_MS);
    }
    this.#schedule();
    this.#listening = setInterval(() => this.#dropSilent(), this.#options.stallMs / 4).unref();
  }

  async run(key: string, args: readonly (string | Buffer)[], options: RunOptions = {}): Promise<Reply> {
    const until = Date.now() + this.#options.patienceMs;
    for (;;) {
      const address = this.#options.topology.ownerOf(key);
      const node = address === undefined ? undefined : await this.#nodes.get(address).catch(() => undefined);
      if (node !== undefined) {
        try {
          const reply = this.#nodes.send(node, args);
          const copied = options.durable === true ? this.#copied(node) : undefined;
          copied?.catch(() => {});
          const answer = await reply;
          await copied;
          return answer;
        } catch (error) {
          const redirect = redirectOf(error);
          if (redirect === undefined || Date.now() > until) throw storeFault(error);
          await this.#look();
          if (redirect === "wait") await pause(RETRY_MS);
          continue;
        }
      }
      if (this.#closed || Date.now() > until) throw storeUnavailable(new Error(`nobody owns the key ${key}`));
      await this.#look();
      await pause(RETRY_MS);
    }
  }

  async subscribe(channel: string, listener: ChannelListener): Promise<void> {
    try {
      await this.#channels.subscribe(channel, listener, this.#options.patienceMs);
    } catch (error) {
      throw storeUnavailable(error);
    }
  }

  unsubscribe(channel: string, listener: ChannelListener): Promise<void> {
    return this.#channels.unsubscribe(channel, listener);
  }

  onSubscriberReconnect(callback: () => void): void {
    this.#channels.onReconnect(callback);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#listening);
    this.#options.topology.close();
    this.#channels.close();
    this.#nodes.close();
  }

  /**
   * Waits until replicas hold what this connection wrote. It goes out right behind the write on the same connection, so a
   * server that took over cannot vouch for a write that it never saw.
   */
  async #copied(node: Awaited<ReturnType<RedisNodes["get"]>>): Promise<void> {
    const { count, timeoutMs } = this.#options.replicas;
    if (count === 0) return;
    const copies = Number(await this.#nodes.send(node, ["WAIT", String(count), String(timeoutMs)]));
    if (copies < count) throw storeUnavailable(new Error(`${copies} of ${count} replicas took the write`));
  }

  #dropSilent(): void {
    const { stallMs, replicas, onError } = this.#options;
    // While a server waits for its replicas it answers nothing else on the connection.
    const limit = stallMs + (replicas.count > 0 ? replicas.timeoutMs : 0);
    for (const address of this.#nodes.silent(limit)) {
      onError(new Error(`Redis at ${address} answered nothing for ${limit} ms: connecting anew`));
      void this.#nodes.drop(address);
      void this.#channels.drop(address);
    }
  }

  /** Looks where everything is; calls that come meanwhile share the answer. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookNow().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookNow(): Promise<void> {
    await this.#options.topology.refresh();
    if (this.#closed) return;
    const owners = this.#options.topology.owners();
    // A server that owns nothing any more may hang for long: what waits for its answers fails now.
    if (owners.size > 0) this.#nodes.keepOnly(owners);
    void this.#channels.reconcile();
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#look()
        .catch((error: unknown) => this.#options.onError(error))
        .finally(() => this.#schedule());
    }, LOOK_MS);
    this.#timer.unref();
  }
}
