import { randomUUID } from "node:crypto";
import type { RedisConnection } from "./connection.ts";
import { streamSlotsKey } from "./keys.ts";
import { runKeyedScript } from "./script.ts";

/** A slot that its process no longer renews is free after this time, in milliseconds. */
const SLOT_MS = 45_000;

/** How many streams each endpoint has open, counted over all replicas (SB-47). */
export class StreamSlots {
  readonly #redis: RedisConnection;
  readonly #limit: number;
  readonly #onError: (error: unknown) => void;

  /** `onError`: a slot could not be renewed or given back; it then lapses by itself. */
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
    const renew = setInterval(() => {
      runKeyedScript(this.#redis, "slot", key, args).catch(this.#onError);
    }, SLOT_MS / 3);
    renew.unref();
    return {
      release: () => {
        clearInterval(renew);
        this.#redis.run(key, ["ZREM", key, id]).catch(this.#onError);
      },
    };
  }
}
