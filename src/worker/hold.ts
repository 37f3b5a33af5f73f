import { durationFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { CallOptions, Client } from "@connectrpc/connect";
import {
  type ClaimResponse,
  type Todo,
  TodoState,
  type WorkerService,
} from "../../gen/baton/worker/v1/worker_pb.js";
import { persist } from "./backoff.ts";
import { callOptions } from "./client.ts";
import { AlreadySettled, HandlerStopped, type StopReason, verdictOf } from "./errors.ts";
import { Inbox } from "./inbox.ts";
import { Lease } from "./lease.ts";
import type { Outcome } from "./options.ts";
import { TodoTrace } from "./trace.ts";
import { watchTodo } from "./watch.ts";

const TERMINAL: ReadonlySet<TodoState> = new Set([
  TodoState.DONE,
  TodoState.FAILED,
  TodoState.CANCELED,
  TodoState.REJECTED,
]);
const WAITING: ReadonlySet<TodoState> = new Set([TodoState.INPUT_REQUIRED, TodoState.AUTH_REQUIRED]);

/**
 * How long a todo is worked on before it is watched, in milliseconds. Most short ones end before, and a watch costs the
 * gateway as much as they do; it begins with all that has happened.
 */
const WATCH_AFTER_MS = 50;

/** One attempt of this worker at a todo: its lease, its watch, and how it ends. */
export class Hold {
  readonly todo: Todo;
  readonly calls: Client<typeof WorkerService>;
  /** What every call on the todo carries. */
  readonly identity: { readonly id: string; readonly leaseToken: string };
  readonly inbox: Inbox;
  readonly lease: Lease;
  readonly trace: TodoTrace;
  /** Aborted when the todo is no longer ours. */
  readonly #gone = new AbortController();
  /** Aborted with `#gone`, and by a stop of the worker. */
  readonly #stopped = new AbortController();
  readonly #watch = new AbortController();
  readonly #report: (error: Error) => void;
  readonly #ended = Promise.withResolvers<Outcome>();
  /** Set until the watch begins, or is no longer needed. */
  #unwatched: NodeJS.Timeout | undefined;
  #settling = false;

  constructor(calls: Client<typeof WorkerService>, claim: ClaimResponse, report: (error: Error) => void) {
    const { todo, leaseToken } = claim;
    if (todo?.leaseExpiresAt === undefined || todo.updatedAt === undefined) {
      throw new TypeError("the gateway answered a claim without a lease");
    }
    this.todo = todo;
    this.calls = calls;
    this.identity = { id: todo.id, leaseToken };
    this.trace = new TodoTrace(todo);
    this.inbox = new Inbox(todo.messageCount);
    this.#report = report;
    // Both times are the store's, so that this machine's clock plays no part.
    const ms = Math.max(1, timestampMs(todo.leaseExpiresAt) - timestampMs(todo.updatedAt));
    this.lease = new Lease({
      ms,
      renew: (signal) => this.#renew(ms, signal),
      onExpired: () => this.#lose("lease-lost"),
    });
    this.#unwatched = setTimeout(() => this.watch(), WATCH_AFTER_MS);
  }

  /** Begins to hear of cancellation and messages, unless it does already. */
  watch(): void {
    if (this.#unwatched === undefined) return;
    clearTimeout(this.#unwatched);
    this.#unwatched = undefined;
    const { headers } = this.trace;
    const options = { signal: this.#watch.signal, headers };
    void watchTodo(this.calls, this.todo.id, this.todo.messageCount, options, {
      onTodo: (now) => this.#observe(now),
      onMessage: (message, position) => this.inbox.add(message, position),
    });
  }

  /** What the handler sees: aborted when there is no use in going on. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  /** What became of the todo; resolves when the gateway has the outcome, or it no longer matters. */
  get ended(): Promise<Outcome> {
    return this.#ended.promise;
  }

  /** Whether an outcome is on its way or was delivered. */
  get settling(): boolean {
    return this.#settling;
  }

  /** Asks the handler to stop because the worker stops; the todo stays ours. */
  shutDown(): void {
    this.#stopped.abort(new HandlerStopped("shutdown"));
  }

  /** A call of the handler: only while the todo is open and ours. `repeated`: an earlier try may have succeeded. */
  async act<T>(call: (options: CallOptions, repeated: boolean) => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    if (this.#settling) throw new AlreadySettled();
    try {
      return await persist(
        (repeated) => call(callOptions(this.signal, this.trace.activeHeaders), repeated),
        this.signal,
        (error) => this.complain(error),
      );
    } catch (error) {
      if (verdictOf(error) === "conflict" && !this.signal.aborted) await this.#find();
      this.signal.throwIfAborted();
      throw error;
    }
  }

  /**
   * Delivers an outcome, again and again until the lease is lost. `states`: how the todo may look once it is delivered.
   * Rejects, with the todo still open, when the gateway refuses what is delivered.
   */
  async settle(
    outcome: Outcome,
    states: readonly TodoState[],
    deliver: (options: CallOptions) => Promise<unknown>,
  ): Promise<void> {
    if (this.#settling) throw new AlreadySettled();
    this.#settling = true;
    let repeated = false;
    try {
      const attempt = (again: boolean) => {
        repeated = again;
        return deliver(callOptions(this.#gone.signal, this.trace.activeHeaders));
      };
      await persist(attempt, this.#gone.signal, (error) => this.complain(error));
      this.#end(outcome);
    } catch (error) {
      if (error instanceof HandlerStopped) {
        if (error.why === "lease-lost") this.#report(error);
        this.#end("dropped");
        return;
      }
      const verdict = verdictOf(error);
      if (verdict === "refused") {
        this.#settling = false;
        throw error;
      }
      if (verdict === "conflict") await this.#explainConflict(outcome, repeated ? states : []);
      else {
        this.complain(error);
        this.#end("dropped");
      }
    }
  }

  /** Gives up without an outcome: the todo is not ours any more. */
  drop(): void {
    this.#settling = true;
    this.#end("dropped");
  }

  /** The todo as it is now; undefined when it cannot be seen any more or the lease ran out first. */
  async read(): Promise<Todo | undefined> {
    const { id } = this.identity;
    try {
      const answer = await persist(
        () =>
          this.calls.getTodo({ id, attemptsLimit: 0 }, callOptions(this.#gone.signal, this.trace.headers)),
        this.#gone.signal,
        (error) => this.complain(error),
      );
      return answer.todo;
    } catch {
      return undefined;
    }
  }

  complain(error: unknown): void {
    this.#report(error instanceof Error ? error : new Error(String(error)));
  }

  /** The outcome was delivered by an earlier try, or the todo was canceled (SB-40), or it is someone else's. */
  async #explainConflict(outcome: Outcome, states: readonly TodoState[]): Promise<void> {
    const now = await this.read();
    if (now !== undefined && states.includes(now.state)) {
      this.#end(outcome);
      return;
    }
    if (now === undefined || !TERMINAL.has(now.state)) this.#report(new HandlerStopped("lease-lost"));
    this.#end("dropped");
  }

  async #renew(ms: number, signal: AbortSignal): Promise<void> {
    const leaseTtl = durationFromMs(ms);
    try {
      await persist(
        () => this.calls.heartbeat({ ...this.identity, leaseTtl }, callOptions(signal, this.trace.headers)),
        signal,
        (error) => this.complain(error),
      );
    } catch (error) {
      // While an outcome is on its way its own answer decides.
      if (!signal.aborted && !this.#settling) {
        if (verdictOf(error) === "conflict") await this.#find();
        else this.complain(error);
        if (verdictOf(error) === "denied") this.#lose("ended");
      }
      throw error;
    }
  }

  /** Finds out what happened to a todo that answered CONFLICT. */
  async #find(): Promise<void> {
    const now = await this.read();
    if (now === undefined) this.#lose("lease-lost");
    else this.#observe(now);
  }

  #observe(now: Todo): void {
    if (this.#settling) return;
    if (now.state === TodoState.CANCELED) this.#lose("canceled");
    else if (TERMINAL.has(now.state)) this.#lose("ended");
    else if (now.state === TodoState.PENDING || now.attempt !== this.todo.attempt) this.#lose("lease-lost");
    else if (WAITING.has(now.state)) this.lease.suspend();
    else this.lease.resume();
  }

  #lose(why: StopReason): void {
    const reason = new HandlerStopped(why);
    this.#gone.abort(reason);
    this.#stopped.abort(reason);
    this.lease.end();
    this.#unwatch();
  }

  #end(outcome: Outcome): void {
    this.trace.end(outcome);
    this.#ended.resolve(outcome);
    this.lease.end();
    this.#unwatch();
  }

  #unwatch(): void {
    clearTimeout(this.#unwatched);
    this.#unwatched = undefined;
    this.#watch.abort();
  }
}
