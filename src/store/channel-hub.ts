import { codeOf } from "./redis-faults.ts";
import { type NodeOptions, type RedisNode, RedisNodes } from "./redis-nodes.ts";
import type { Topology } from "./topology.ts";

type ChannelListener = (payload: Buffer) => void;

interface Wish {
  readonly listeners: Set<ChannelListener>;
  /** Hands a message to the listeners; the same function for as long as the channel is wanted. */
  readonly receive: (payload: Buffer) => void;
  /** Where the channel is subscribed; undefined: nowhere yet, or no longer. */
  node: RedisNode | undefined;
  /** It was subscribed before, so messages may be missing. */
  lived: boolean;
  /** It is being brought to its owner; see {@link ChannelHub} for the answer. */
  placing: Promise<boolean> | undefined;
}

export interface ChannelHubOptions {
  readonly topology: Topology;
  readonly node: NodeOptions;
  readonly typeMapping: object;
  onError(error: unknown): void;
}

/** Pause before another try where channels could not be subscribed, in milliseconds. */
const AGAIN_MS = 200;

/**
 * Sharded channels on servers that change. What is wanted is kept here and not in a client: whenever a connection breaks
 * or the topology moves, {@link ChannelHub.reconcile} brings the subscriptions to where the channels now live, again and
 * again until all stand (E19, B16, B17).
 */
export class ChannelHub {
  readonly #options: ChannelHubOptions;
  readonly #nodes: RedisNodes;
  readonly #wishes = new Map<string, Wish>();
  readonly #reconnected: (() => void)[] = [];
  readonly #watched = new WeakSet<RedisNode>();
  #running: Promise<void> | undefined;
  #again = false;
  #closed = false;

  constructor(options: ChannelHubOptions) {
    this.#options = options;
    this.#nodes = new RedisNodes(options.node, options.typeMapping, (_address, node, error) => {
      options.onError(error);
      this.#lose(node);
    });
  }

  onReconnect(callback: () => void): void {
    this.#reconnected.push(callback);
  }

  /** Resolves once the channel is live; rejects, and wants it no longer, where it is not in time. */
  async subscribe(channel: string, listener: ChannelListener, withinMs: number): Promise<void> {
    let wish = this.#wishes.get(channel);
    if (wish === undefined) {
      const listeners = new Set<ChannelListener>();
      const receive = (payload: Buffer) => {
        for (const each of listeners) each(payload);
      };
      wish = { listeners, receive, node: undefined, lived: false, placing: undefined };
      this.#wishes.set(channel, wish);
    }
    wish.listeners.add(listener);
    const until = Date.now() + withinMs;
    while (wish.node === undefined) {
      // Only this one: a look at all the others would make each new stream dearer than the one before.
      await this.#place(channel, wish);
      if (wish.node !== undefined) return;
      if (this.#closed || Date.now() >= until) {
        await this.unsubscribe(channel, listener);
        throw new Error(`the channel ${channel} cannot be subscribed`);
      }
      await pause(AGAIN_MS);
    }
  }

  async unsubscribe(channel: string, listener: ChannelListener): Promise<void> {
    const wish = this.#wishes.get(channel);
    if (wish === undefined) return;
    wish.listeners.delete(listener);
    if (wish.listeners.size > 0) return;
    this.#wishes.delete(channel);
    await this.#leave(channel, wish);
  }

  /** Brings every wanted channel to its owner. Calls during a run make one more run follow it. */
  reconcile(): Promise<void> {
    if (this.#running !== undefined) {
      this.#again = true;
      return this.#running;
    }
    this.#running = this.#rounds().finally(() => {
      this.#running = undefined;
      if (this.#again && !this.#closed) void this.reconcile();
    });
    return this.#running;
  }

  /** Gives up the connection to a server that says nothing; what was heard on it is subscribed anew. */
  async drop(address: string): Promise<void> {
    const node = await this.#nodes.drop(address);
    if (node !== undefined) this.#lose(node);
  }

  close(): void {
    this.#closed = true;
    this.#nodes.close();
  }

  async #rounds(): Promise<void> {
    let restored = false;
    do {
      this.#again = false;
      const moves = [...this.#wishes].map(([channel, wish]) => this.#place(channel, wish));
      for (const returned of await Promise.all(moves)) restored ||= returned;
    } while (this.#again && !this.#closed);
    if (restored) for (const callback of this.#reconnected) callback();
  }

  /** Brings a channel to its owner; true where it had been live and is live again. */
  #place(channel: string, wish: Wish): Promise<boolean> {
    wish.placing ??= this.#placeNow(channel, wish).finally(() => {
      wish.placing = undefined;
    });
    return wish.placing;
  }

  async #placeNow(channel: string, wish: Wish): Promise<boolean> {
    const owner = this.#options.topology.ownerOf(channel);
    if (owner === undefined) return false;
    try {
      const node = await this.#nodes.get(owner);
      this.#watch(node);
      if (wish.node === node || this.#wishes.get(channel) !== wish) return false;
      await this.#leave(channel, wish);
      await node.sSubscribe(channel, wish.receive, true);
      // Meanwhile nobody may want it any more, or the connection may have broken.
      if (this.#wishes.get(channel) !== wish) {
        await node.sUnsubscribe(channel, wish.receive, true);
        return false;
      }
      if (!node.isReady) return false;
      wish.node = node;
      const returned = wish.lived;
      wish.lived = true;
      return returned;
    } catch (error) {
      // The owner is down or is the owner no more: the topology will say so, and the next round goes there.
      if (codeOf(error) !== "MOVED" && !this.#closed) this.#options.onError(error);
      return false;
    }
  }

  async #leave(channel: string, wish: Wish): Promise<void> {
    const { node } = wish;
    wish.node = undefined;
    if (node?.isReady !== true) return;
    await node.sUnsubscribe(channel, wish.receive, true).catch(() => {});
  }

  #watch(node: RedisNode): void {
    if (this.#watched.has(node)) return;
    this.#watched.add(node);
    // A server that gives a slot away ends the subscriptions of its channels.
    node.on("sharded-channel-moved", (channel: string) => {
      const wish = this.#wishes.get(channel);
      if (wish?.node === node) wish.node = undefined;
      void this.reconcile();
    });
  }

  #lose(node: RedisNode): void {
    for (const wish of this.#wishes.values()) if (wish.node === node) wish.node = undefined;
    void this.reconcile();
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
