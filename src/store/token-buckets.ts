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
/** Subjects of one limit. */
const MAX_HELD = 10_000;

interface Held {
  tokens: number;
  /** In milliseconds since the epoch. */
  readonly until: number;
}

/** Rate limits whose state is in Redis, so that all replicas agree (SB-51). */
export class TokenBuckets {
  readonly #redis: RedisConnection;
  /** By name of the limit, then by subject: one key of both would be put together and hashed on every call. */
  readonly #held = new Map<string, Map<string, Held>>();
  readonly #drawing = new Map<string, Promise<number>>();

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** Takes a token that this process holds already. False where it holds none: then {@link take} may find one. */
  takeHeld(limit: BucketLimit, subject: string): boolean {
    return limit.batch > 1 && this.#spend(limit, subject);
  }

  /** Takes a token; answers 0, or how many milliseconds to wait for one. */
  async take(limit: BucketLimit, subject: string): Promise<number> {
    const key = bucketKey(limit.name, subject);
    if (limit.batch <= 1) return (await this.#draw(key, limit)).waitMs;
    for (;;) {
      if (this.#spend(limit, subject)) return 0;
      // Of many calls at once, one draws a batch for all of them; each drawing its own would empty the bucket.
      const drawing = this.#drawing.get(key);
      if (drawing !== undefined) {
        const waitMs = await drawing;
        if (waitMs > 0) return waitMs;
        continue;
      }
      const draw = this.#fill(key, limit, subject);
      this.#drawing.set(key, draw);
      try {
        const waitMs = await draw;
        if (waitMs > 0) return waitMs;
      } finally {
        this.#drawing.delete(key);
      }
    }
  }

  #spend(limit: BucketLimit, subject: string): boolean {
    const held = this.#held.get(limit.name)?.get(subject);
    if (held === undefined || held.tokens <= 0 || held.until <= Date.now()) return false;
    held.tokens -= 1;
    return true;
  }

  async #fill(key: string, limit: BucketLimit, subject: string): Promise<number> {
    const { taken, waitMs } = await this.#draw(key, limit);
    if (taken > 0) {
      const held = this.#held.get(limit.name) ?? new Map<string, Held>();
      if (held.size >= MAX_HELD) held.clear();
      held.set(subject, { tokens: taken, until: Date.now() + HOLD_MS });
      this.#held.set(limit.name, held);
    }
    return waitMs;
  }

  async #draw(key: string, limit: BucketLimit): Promise<{ readonly taken: number; readonly waitMs: number }> {
    const args = { rate: limit.perSecond, burst: limit.burst, want: Math.max(1, limit.batch) };
    const reply = await runKeyedScript(this.#redis, "bucket", key, args);
    const [taken = 0, waitMs = 1000] = Array.isArray(reply) ? reply.map(Number) : [];
    return { taken, waitMs: taken > 0 ? 0 : Math.max(1, waitMs) };
  }
}
