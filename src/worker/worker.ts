import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { ClaimResponse, Todo } from "../../gen/baton/worker/v1/worker_pb.js";
import { Backoff } from "./backoff.ts";
import { CALL_TIMEOUT_MS, connectWorker, type WorkerClient } from "./client.ts";
import { verdictOf } from "./errors.ts";
import { Hold } from "./hold.ts";
import { listenersOf } from "./listeners.ts";
import type { Settings, WorkerOptions } from "./options.ts";
import { runTodo } from "./run-todo.ts";

/** How long one claim waits for work; under the idle limits of proxies, the shortest of which is 60 s. */
const CLAIM_WAIT_MS = 20_000;
/** What a handler gets after its signal aborted, before its todo is given back without it. */
const LAST_WORDS_MS = 1_000;

/**
 * Claims todos of a queue and runs a handler on each. Keeps going while the gateway is away, and after it was killed in
 * the middle of a todo: the handler runs on, and its result is delivered as soon as the gateway is back.
 *
 * @example
 * const worker = new Worker({ url, credential, handler: async ({ text }) => text.toUpperCase() });
 * await worker.run(AbortSignal.any([stop.signal]));
 */
export class Worker {
  readonly #settings: Settings;
  readonly #running = new Map<Promise<void>, Hold>();
  /** Todos on their way back that nobody began to work on. */
  readonly #returning = new Set<Promise<unknown>>();
  readonly #claiming = new AbortController();
  #client: WorkerClient | undefined;
  #loop: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #freed = Promise.withResolvers<void>();

  /** Throws TypeError or RangeError for options that cannot work. */
  constructor(options: WorkerOptions) {
    this.#settings = settingsOf(options);
  }

  /** How many todos are being worked on. */
  get active(): number {
    return this.#running.size;
  }

  /**
   * Works until `signal` aborts or {@link stop} is called, then stops gracefully and resolves. Rejects when no work is
   * possible at all: the credential is refused, or the queue is not granted.
   */
  async run(signal?: AbortSignal): Promise<void> {
    const stop = () => void this.stop();
    if (signal?.aborted) return;
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await this.#begin();
    } finally {
      signal?.removeEventListener("abort", stop);
      await this.stop();
    }
  }

  /** Begins to work and returns at once. An error that ends the work goes to `onError`. A worker starts only once. */
  start(): void {
    this.#begin().catch((error) => {
      this.#settings.onError(error);
      void this.stop();
    });
  }

  #begin(): Promise<void> {
    if (this.#loop !== undefined) throw new Error("a worker starts only once; make a new one");
    this.#client = connectWorker(this.#settings.url, this.#settings.credential);
    this.#loop = this.#claimAll(this.#client);
    return this.#loop;
  }

  /**
   * Claims no more, lets running handlers finish for `stopGrace` seconds, then aborts their signals and gives their
   * todos back unspent. Resolves when nothing is held any more. Safe to call again.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    this.#claiming.abort();
    await this.#loop?.catch(() => {});
    await Promise.race([this.#idle(), sleep(this.#settings.stopGraceMs, undefined, { ref: false })]);
    for (const hold of this.#running.values()) hold.shutDown();
    await Promise.race([this.#idle(), sleep(LAST_WORDS_MS)]);
    await Promise.all([...this.#running.values()].map((hold) => this.#giveBack(hold)));
    await Promise.all(this.#returning);
    this.#client?.close();
  }

  /** For a handler that does not heed its signal. */
  async #giveBack(hold: Hold): Promise<void> {
    if (!hold.settling) {
      const { calls, identity } = hold;
      const request = { ...identity, summary: "the worker was stopped" };
      await hold
        .settle("released", [], (options) => calls.release(request, options))
        .catch((error) => hold.complain(error));
    }
    await Promise.race([hold.ended, sleep(CALL_TIMEOUT_MS, undefined, { ref: false })]);
  }

  async #idle(): Promise<void> {
    await Promise.all(this.#running.keys());
  }

  async #claimAll(client: WorkerClient): Promise<void> {
    const { signal } = this.#claiming;
    const backoff = new Backoff();
    let away = false;
    while (!signal.aborted) {
      if (this.#running.size >= this.#settings.concurrency) {
        await this.#slot(signal);
        continue;
      }
      try {
        const claim = await this.#claim(client, signal);
        away = false;
        backoff.reset();
        if (claim.todo !== undefined) this.#take(client, claim, claim.todo);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof WrongAgent || verdictOf(error) !== "again") throw error;
        // One report an outage, not one a try.
        if (!away) this.#settings.onError(error instanceof Error ? error : new Error(String(error)));
        away = true;
        await backoff.pause(signal);
      }
    }
  }

  async #claim({ calls }: WorkerClient, signal: AbortSignal): Promise<ClaimResponse> {
    const { agent } = this.#settings;
    const claim = await calls.claim(
      { ...this.#wish(), wait: durationFromMs(CLAIM_WAIT_MS) },
      { signal, timeoutMs: CLAIM_WAIT_MS + CALL_TIMEOUT_MS },
    );
    const { todo, leaseToken } = claim;
    if (todo !== undefined && agent !== undefined && todo.agent !== agent) {
      await calls.release({ id: todo.id, leaseToken }, { timeoutMs: CALL_TIMEOUT_MS });
      throw new WrongAgent(`the credential is for the agent "${todo.agent}", not for "${agent}"`);
    }
    return claim;
  }

  /** What is claimed. */
  #wish() {
    const { queue, claimant, fence, lease } = this.#settings;
    const leaseTtl = lease === undefined ? {} : { leaseTtl: durationFromMs(lease * 1000) };
    return { queue, claimant, requireFence: fence, ...leaseTtl };
  }

  #take(client: WorkerClient, claim: ClaimResponse, todo: Todo): void {
    const { handler, onError, onOutcome } = this.#settings;
    const hold = new Hold(client.calls, claim, (error) => onError(error, todo));
    const claimNext = () => (this.#claiming.signal.aborted ? undefined : this.#wish());
    const work = hold.trace
      .run(() => runTodo(hold, claim.priorAttempts, handler, claimNext))
      .then(({ outcome, error, next }) => {
        this.#running.delete(work);
        // In the place of the one before, so that there are never more than there may be.
        if (next?.todo !== undefined) this.#takeNext(client, next, next.todo);
        this.#freed.resolve();
        onOutcome(outcome, todo, error);
      });
    this.#running.set(work, hold);
  }

  #takeNext(client: WorkerClient, claim: ClaimResponse, todo: Todo): void {
    if (!this.#claiming.signal.aborted) {
      this.#take(client, claim, todo);
      return;
    }
    const { leaseToken } = claim;
    const returning = client.calls
      .release({ id: todo.id, leaseToken, summary: "the worker was stopped" }, { timeoutMs: CALL_TIMEOUT_MS })
      .catch((error: unknown) =>
        this.#settings.onError(error instanceof Error ? error : new Error(String(error)), todo),
      )
      .finally(() => this.#returning.delete(returning));
    this.#returning.add(returning);
  }

  /** Waits until a todo ends, or the worker stops. */
  async #slot(signal: AbortSignal): Promise<void> {
    this.#freed = Promise.withResolvers();
    const { promise, resolve } = this.#freed;
    const wake = () => resolve();
    signal.addEventListener("abort", wake, { once: true });
    await promise;
    signal.removeEventListener("abort", wake);
  }
}

class WrongAgent extends Error {
  override readonly name = "WrongAgent";
}

function settingsOf(options: WorkerOptions): Settings {
  const { concurrency = 1, lease, stopGrace = 30 } = options;
  if (!URL.canParse(options.url) || !/^https?:/.test(options.url)) {
    throw new TypeError(`url must be an http or https address, not "${options.url}"`);
  }
  if (options.credential.trim() === "") throw new TypeError("credential must not be empty");
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new RangeError("concurrency must be a whole number of at least 1");
  }
  if (lease !== undefined && !(lease > 0)) throw new RangeError("lease must be a positive number of seconds");
  if (!(stopGrace >= 0)) throw new RangeError("stopGrace must be a number of seconds, 0 or more");
  return {
    ...options,
    queue: options.queue ?? "",
    concurrency,
    claimant: options.claimant ?? `${hostname()}:${process.pid}`,
    fence: options.fence ?? true,
    stopGraceMs: stopGrace * 1000,
    ...listenersOf(options),
  };
}
