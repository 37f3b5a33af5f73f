import { randomUUID } from "node:crypto";
import type { RedisConnection } from "./connection.ts";
import { streamSlotsKey } from "./keys.ts";
import { runKeyedScript } from "./script.ts";

/** A slot that its process no longer renews is free after this time, in milliseconds. */
const SLOT_MS = 45_000;
/** Slots that one command renews. */
const AT_ONCE = 500;

/** How many streams each endpoint has open, counted over all replicas (SB-47). */
export class StreamSlots {
  readonly #redis: RedisConnection;
  readonly #limit: number;
  readonly #onError: (error: unknown) => void;
  /** Slots that this process holds, by the key of their endpoint. */
  readonly #held = new Map<string, Set<string>>();
  #timer: NodeJS.Timeout | undefined;

  /** `onError`: slots could not be renewed or given back; they then lapse by themselves. */
  constructor(redis: RedisConnection, limit: number, onError: (error: unknown) => void) {
    this.#redis = redis;
    this.#limit = limit;
    this.#onError = onError;
  }

  /** Takes a slot and keeps it until it is released; undefined when all are taken. */
  async take(endpointId: string): Promise<{ release(): void } | undefined> {
    const key = streamSlotsKey(endpointId);
    const id = randomUUID();
    const args = { id, limit: this.#limit, ttl: SLOT_MS };
    if (Number(await runKeyedScript(this.#redis, "slot", key, args)) !== 1) return undefined;
    const own = this.#held.get(key) ?? new Set();
    this.#held.set(key, own.add(id));
    this.#timer ??= setInterval(() => this.#renewAll(), SLOT_MS / 3).unref();
    return {
      release: () => {
        own.delete(id);
        if (own.size === 0 && this.#held.get(key) === own) this.#held.delete(key);
        if (this.#held.size === 0) {
          clearInterval(this.#timer);
          this.#timer = undefined;
        }
        this.#redis.run(key, ["ZREM", key, id]).catch(this.#onError);
      },
    };
  }

  #renewAll(): void {
    for (const [key, ids] of this.#held) {
      const all = [...ids];
      for (let at = 0; at < all.length; at += AT_ONCE) {
        const args = { ids: JSON.stringify(all.slice(at, at + AT_ONCE)), ttl: SLOT_MS };
        runKeyedScript(this.#redis, "slot_renew", key, args).catch(this.#onError);
      }
    }
  }
}
