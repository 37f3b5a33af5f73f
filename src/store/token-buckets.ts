import type { RedisConnection } from "./connection.ts";
import { bucketKey } from "./keys.ts";
import { runKeyedScript } from "./script.ts";

/** A limit: `perSecond` tokens come back each second, at most `burst` are there at once. */
export interface BucketLimit {
  readonly name: string;
  readonly perSecond: number;
  readonly burst: number;
  /**
   * Tokens that a process takes at once and spends by itself, to save round trips. 1 counts exactly; more may refuse
   * early by as many as other processes hold, but never lets more through than the limit.
   */
  readonly batch: number;
}

/** Tokens in hand are given up after this time, in milliseconds. */
const HOLD_MS = 1000;
const MAX_HELD = 10_000;

/** Rate limits whose state is in Redis, so that all replicas agree (SB-51). */
export class TokenBuckets {
  readonly #redis: RedisConnection;
  readonly #held = new Map<string, { tokens: number; readonly until: number }>();

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** Takes a token; answers 0, or how many milliseconds to wait for one. */
  async take(limit: BucketLimit, subject: string): Promise<number> {
    const key = bucketKey(limit.name, subject);
    const held = this.#held.get(key);
    if (held !== undefined && held.tokens > 0 && held.until > Date.now()) {
      held.tokens -= 1;
      return 0;
    }
    const args = { rate: limit.perSecond, burst: limit.burst, want: limit.batch };
    const reply = await runKeyedScript(this.#redis, "bucket", key, args);
    const [taken, waitMs] = Array.isArray(reply) ? reply.map(Number) : [];
    if (taken === undefined || taken === 0) return Math.max(1, waitMs ?? 1000);
    if (taken > 1) {
      if (this.#held.size >= MAX_HELD) this.#held.clear();
      // Two calls at once may both have asked: what one of them holds already counts on.
      const spare = this.#held.get(key);
      const kept = spare !== undefined && spare.until > Date.now() ? spare.tokens : 0;
      this.#held.set(key, { tokens: kept + taken - 1, until: Date.now() + HOLD_MS });
    }
    return 0;
  }
}
