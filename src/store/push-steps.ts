import type { RedisConnection, Reply } from "./connection.ts";
import { runScript } from "./script.ts";

/** What came of the first push of a lane. `note` and `log` are JSON without secrets; see push/attempt-note.ts. */
export type Settlement =
  | { readonly verb: "delivered"; readonly log: string }
  | { readonly verb: "dead"; readonly reason: string; readonly note: string; readonly log: string }
  | { readonly verb: "retry"; readonly waitMs: number; readonly note: string; readonly log: string }
  | { readonly verb: "wait"; readonly waitMs: number; readonly reserved: boolean };

export interface LaneLimits {
  /** Pushes that may wait in one lane; one more is dead at once. */
  readonly depth: number;
  /** Bytes of the pushes that may wait in one lane; an empty one takes any push. */
  readonly bytes: number;
  /** How long a worker may hold a lane without a sign of life, in milliseconds. */
  readonly leaseMs: number;
  /** How long a config with dead letters outlives its task, in milliseconds. */
  readonly keepMs: number;
  /** How long dead letters are kept, in milliseconds, and how many and how many bytes for one agent. */
  readonly deadMs: number;
  readonly deadCount: number;
  readonly deadBytes: number;
}

/** One step of one lane, as `push_step.lua` has it. */
export type LaneStep = (Settlement | { readonly verb: "take" | "head" }) & {
  readonly ref: string;
  /** The lane's number for `take`, the sequence of its first push otherwise. */
  readonly at: number;
};

/** Steps in one call: they hold up Redis for about a millisecond. */
const MAX_STEPS = 64;
/** Bytes of pushes in one answer, beyond the first. */
const ROOM = 1024 * 1024;

interface Pending {
  readonly step: LaneStep;
  resolve(reply: Reply): void;
  reject(error: unknown): void;
}

/**
 * Gathers the steps that lanes of one agent take in one turn of the event loop into one call. Each is on its own
 * otherwise: it answers and fails alone, and no lane goes on before its own step is recorded.
 */
export class LaneSteps {
  readonly #redis: RedisConnection;
  readonly #agent: string;
  readonly #args: Parameters<typeof runScript>[3];
  #pending: Pending[] = [];

  constructor(redis: RedisConnection, agent: string, holder: string, limits: LaneLimits) {
    const { leaseMs, keepMs, deadMs, deadCount, deadBytes } = limits;
    this.#redis = redis;
    this.#agent = agent;
    this.#args = {
      holder,
      lease: leaseMs,
      keep: keepMs,
      ttl: deadMs,
      deadlimit: deadCount,
      deadbytes: deadBytes,
      room: ROOM,
    };
  }

  take(step: LaneStep): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.#pending.push({ step, resolve, reject }) === 1) setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    const all = this.#pending;
    this.#pending = [];
    for (let i = 0; i < all.length; i += MAX_STEPS) void this.#send(all.slice(i, i + MAX_STEPS));
  }

  async #send(batch: readonly Pending[]): Promise<void> {
    try {
      const words = batch.map(({ step }) => wordOf(step));
      const replies = await runScript(this.#redis, "push_step", this.#agent, this.#args, words);
      if (!Array.isArray(replies)) throw new Error("unexpected reply of a push script");
      batch.forEach((pending, i) => {
        const reply = replies[i] ?? null;
        const [verdict, reason] = Array.isArray(reply) ? reply.slice(0, 2).map(String) : [];
        const { step, resolve, reject } = pending;
        if (verdict === "failed") reject(new Error(`push_step: ${reason}`));
        else if (verdict === "again")
          this.take({ verb: "head", ref: step.ref, at: step.at }).then(resolve, reject);
        else resolve(reply);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

function wordOf(step: LaneStep): string {
  const wait = "waitMs" in step ? Math.ceil(step.waitMs) : 0;
  const slot = step.verb === "wait" && step.reserved ? "1" : "-";
  const reason = "reason" in step ? step.reason : "-";
  const note = "note" in step ? step.note : "";
  const log = "log" in step ? step.log : "";
  return `${step.verb} ${step.ref} ${step.at} ${wait} ${slot} ${reason} ${Buffer.byteLength(note)} ${note}${log}`;
}
