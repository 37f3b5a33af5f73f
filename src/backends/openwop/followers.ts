import { setTimeout as sleep } from "node:timers/promises";
import type { RunIntent, RunRecord } from "../../store/run-records.ts";
import type { RunStore } from "../../store/runs.ts";
import { outsideSpans } from "../../telemetry/tracing/active.ts";
import { HostRefusal, isTransient } from "./client/errors.ts";
import { followRun } from "./follow-run.ts";
import { FollowerMetrics } from "./follower-metrics.ts";
import type { HostLink } from "./host-link.ts";
import type { RunSync } from "./run-sync.ts";
import { StreamSlots } from "./stream-slots.ts";

export interface FollowersOptions {
  readonly link: HostLink;
  readonly store: RunStore;
  readonly sync: RunSync;
  /** Names this process among the replicas; never used twice. */
  readonly holder: string;
  /** Finishes a create that another process began. */
  finish(intent: RunIntent & { readonly storedKey: string }): Promise<void>;
  onError(error: unknown): void;
}

interface Followed {
  readonly fence: string;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

const TAKE_AT_ONCE = 100;
const ENDED_AT_ONCE = 20;
const TELL_AGAIN_MS = 10_000;

/**
 * Follows every run that has not ended, each by one process at a time (design.md section 4). A run is taken with a lease
 * and a number that only grows; a process that was away too long finds its number refused by the store.
 */
export class Followers {
  readonly metrics = new FollowerMetrics();
  readonly #options: FollowersOptions;
  readonly #slots: StreamSlots;
  readonly #followed = new Map<string, Followed>();
  readonly #stop = new AbortController();
  #loops: Promise<unknown> | undefined;

  constructor(options: FollowersOptions) {
    this.#options = { ...options, onError: sometimes(options.onError) };
    this.#slots = new StreamSlots(options.link.config.followers.streams);
  }

  get size(): number {
    return this.#followed.size;
  }

  get streams(): number {
    return this.#slots.used;
  }

  get leaseMs(): number {
    return this.#options.link.config.followers.leaseSeconds * 1000;
  }

  start(): void {
    const { config } = this.#options.link;
    this.#loops ??= Promise.all([
      this.#every(config.followers.tickSeconds * 1000, () => this.#takeDue()),
      this.#every(this.leaseMs / 3, () => this.#renew()),
      this.#every(Math.min(60_000, config.retentionCheckSeconds * 500), () => this.#forgetPurged()),
    ]);
  }

  /** Follows a run that this process holds already; one that follows none leaves it to another. */
  adopt(record: RunRecord): void {
    if (this.#stop.signal.aborted || this.#followed.has(record.id)) return;
    const { link, store, holder, sync, onError } = this.#options;
    if (this.#loops === undefined) {
      store.release(link.agent, holder, 0, new Map([[record.id, record.fence]])).catch(onError);
      return;
    }
    const { pollSeconds, pollCapSeconds } = link.config.followers;
    const abort = new AbortController();
    const watch = this.metrics.watch();
    const options = {
      link,
      sync,
      slots: this.#slots,
      fence: record.fence,
      signal: abort.signal,
      metrics: this.metrics,
      watch,
      pollMs: pollSeconds * 1000,
      pollCapMs: pollCapSeconds * 1000,
      onError,
    };
    // For the length of the run, and not of the call that started it.
    const done = outsideSpans(() => followRun(record, options))
      .catch(onError)
      .finally(() => {
        this.metrics.forget(watch);
        if (this.#followed.get(record.id)?.abort === abort) this.#followed.delete(record.id);
      });
    this.#followed.set(record.id, { fence: record.fence, abort, done });
  }

  /** Lets go of every run, so that another process can go on at once. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loops;
    const { link, store, holder, onError } = this.#options;
    const held = this.#held();
    const done = [...this.#followed.values()].map((followed) => {
      followed.abort.abort();
      return followed.done;
    });
    await Promise.race([Promise.all(done), sleep(3000)]);
    await store.release(link.agent, holder, 0, held).catch(onError);
  }

  #held(): Map<string, string> {
    return new Map([...this.#followed].map(([id, { fence }]) => [id, fence]));
  }

  async #every(ms: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await work().catch(this.#options.onError);
      await sleep(ms, undefined, { signal }).catch(() => {});
    }
  }

  async #takeDue(): Promise<void> {
    const { link, store, holder, finish, onError } = this.#options;
    for (;;) {
      const room = Math.min(TAKE_AT_ONCE, link.config.followers.runs - this.#followed.size);
      if (room <= 0 || this.#stop.signal.aborted) return;
      const { runs, intents } = await store.take(link.agent, holder, this.leaseMs, room);
      for (const record of runs) {
        // Taken again while still followed: the lease ran out under the old number.
        if (this.#followed.has(record.id)) this.#giveUp(record.id);
        this.#followed.delete(record.id);
        this.adopt(record);
      }
      for (const intent of intents) finish(intent).catch(onError);
      if (runs.length < room) return;
    }
  }

  async #renew(): Promise<void> {
    const { link, store, holder } = this.#options;
    const lost = await store.renew(link.agent, holder, this.leaseMs, this.#held());
    for (const id of lost) this.#giveUp(id);
  }

  #giveUp(id: string): void {
    const { abort } = this.#followed.get(id) ?? {};
    if (abort === undefined || abort.signal.aborted) return;
    this.metrics.leasesLost++;
    abort.abort();
  }

  /** An ended task lives as long as the record of its run (OW-15). */
  async #forgetPurged(): Promise<void> {
    const { link, store } = this.#options;
    const ended = await store.ended(link.agent, link.config.retentionCheckSeconds * 1000, ENDED_AT_ONCE);
    for (const { id, credential } of ended) {
      try {
        await link.client.readRun(link.credentials.token(credential), id, true);
      } catch (error) {
        const gone = error instanceof HostRefusal && (error.status === 404 || error.status === 410);
        if (gone) await store.purge(link.agent, id);
        else if (isTransient(error)) return;
      }
    }
  }
}

/** A host that is away fails thousands of runs in the same way: each way is told once in a while. */
function sometimes(tell: (error: unknown) => void): (error: unknown) => void {
  const told = new Map<string, number>();
  return (error) => {
    const way = error instanceof Error ? `${error.name} ${error.message}` : String(error);
    const now = Date.now();
    if (now - (told.get(way) ?? Number.NEGATIVE_INFINITY) < TELL_AGAIN_MS) return;
    if (told.size > 100) told.clear();
    told.set(way, now);
    tell(error);
  };
}
