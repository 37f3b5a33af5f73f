import type { RedisConnection } from "./connection.ts";
import { queueChannel } from "./keys.ts";

/** A todo became claimable, or will at `at` (milliseconds since the epoch; 0: now). */
export interface Ring {
  readonly id: string;
  readonly queue: string;
  readonly title: string;
  readonly at: number;
}

export type RingListener = (ring: Ring) => void;

/** Doorbells of queues: hints that there is work, never the ledger itself (SB-73). One subscription per queue and process. */
export class QueueBells {
  readonly #redis: RedisConnection;
  readonly #bells = new Map<
    string,
    { readonly listeners: Set<RingListener>; readonly ready: Promise<void>; stop(): void }
  >();

  constructor(redis: RedisConnection) {
    this.#redis = redis;
    redis.onSubscriberReconnect(() => this.#ringAll());
  }

  /** Listens to a queue; resolves to the function that ends it, once rings arrive. */
  async listen(agent: string, queue: string, listener: RingListener): Promise<() => void> {
    const channel = queueChannel(agent, queue);
    let bell = this.#bells.get(channel);
    if (bell === undefined) {
      const listeners = new Set<RingListener>();
      const receive = (payload: Buffer) => {
        const ring = JSON.parse(payload.toString()) as Omit<Ring, "queue">;
        for (const each of listeners) each({ ...ring, queue });
      };
      const ready = this.#redis.subscribe(channel, receive);
      const stop = () => void ready.then(() => this.#redis.unsubscribe(channel, receive)).catch(() => {});
      bell = { listeners, ready, stop };
      this.#bells.set(channel, bell);
    }
    const mine = bell;
    mine.listeners.add(listener);
    const end = () => {
      mine.listeners.delete(listener);
      if (mine.listeners.size === 0 && this.#bells.get(channel) === mine) {
        this.#bells.delete(channel);
        mine.stop();
      }
    };
    try {
      await mine.ready;
    } catch (error) {
      end();
      throw error;
    }
    return end;
  }

  /** Rings may have been missed while away: let everybody look. */
  #ringAll(): void {
    for (const { listeners } of this.#bells.values()) {
      for (const listener of listeners) listener({ id: "", queue: "", title: "", at: 0 });
    }
  }
}
