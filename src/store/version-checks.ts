import { outsideSpans } from "../telemetry/tracing/active.ts";
import type { RedisConnection } from "./connection.ts";
import { runScript } from "./script.ts";
import { type Viewer, viewerArgs } from "./viewer.ts";

/** What one call of the script is asked at most: Redis does nothing else meanwhile. */
const BATCH = 64;

const YES = "1".charCodeAt(0);

/** Questions that go to Redis together. */
interface Batch {
  readonly args: string[];
  readonly answers: PromiseWithResolvers<Buffer>;
}

/**
 * Asks whether tasks are still what a reader has at hand. What is asked in one turn of the event loop about one agent goes
 * in one call, but each question is asked and answered for itself: two readers of one task are two questions.
 */
export class VersionChecks {
  readonly #redis: RedisConnection;
  /** By agent: its keys lie in one slot. */
  readonly #open = new Map<string, Batch>();

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** Whether the task is stored with just this version and the viewer may see it. False says no more than to read it. */
  async isCurrent(agent: string, id: string, viewer: Viewer, version: string): Promise<boolean> {
    const { args, answers } = this.#open.get(agent) ?? this.#begin(agent);
    const { caller, shared, queues } = viewerArgs(viewer);
    const index = args.push(id, caller, shared, queues, version) / 5 - 1;
    if (index + 1 === BATCH) this.#send(agent);
    return (await answers.promise)[index] === YES;
  }

  #begin(agent: string): Batch {
    // The first one waits for those that other sockets bring in the same turn.
    if (this.#open.size === 0) setImmediate(this.#sendAll);
    const batch = { args: [], answers: Promise.withResolvers<Buffer>() };
    this.#open.set(agent, batch);
    return batch;
  }

  readonly #sendAll = (): void => {
    for (const agent of this.#open.keys()) this.#send(agent);
  };

  #send(agent: string): void {
    const batch = this.#open.get(agent);
    if (batch === undefined) return;
    this.#open.delete(agent);
    // It belongs to several calls, none of which is traced: see TaskStore.read.
    outsideSpans(() => runScript(this.#redis, "check", agent, {}, batch.args)).then((reply) => {
      if (Buffer.isBuffer(reply)) batch.answers.resolve(reply);
      else batch.answers.reject(new Error("unexpected reply of the check script"));
    }, batch.answers.reject);
  }
}
