import { create } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError } from "../domain/errors.ts";
import { isInterrupted, isTerminal } from "../domain/todo.ts";
import type { Subscription } from "../store/subscription.ts";
import type { LogEvent } from "../store/task-log.ts";
import type { TaskSnapshot } from "../store/tasks.ts";
import type { StreamItem } from "./call.ts";
import { StreamEnd } from "./open-streams.ts";

/** The state that an event brings, or undefined for an artifact. */
export function stateOf(message: StreamResponse): TaskState | undefined {
  const { payload } = message;
  if (payload.case === "statusUpdate") return payload.value.status?.state;
  if (payload.case === "task") return payload.value.status?.state;
  return undefined;
}

/** Does something when a signal aborts, and at once if it already has; answers how to take that back. */
function whenAborted(signal: AbortSignal, action: () => void): () => void {
  if (signal.aborted) action();
  else signal.addEventListener("abort", action, { once: true });
  return () => signal.removeEventListener("abort", action);
}

/** The error with which a stream that did not reach its end stops (A2A-83, A2A-95). */
function interruption(subscription: Subscription, signal: AbortSignal): BatonError {
  if (signal.aborted) {
    return signal.reason instanceof StreamEnd
      ? signal.reason.error
      : new BatonError("Canceled", "the client went away");
  }
  if (subscription.ended === "overflow") {
    return new BatonError("StreamInterrupted", "the reader fell too far behind; subscribe again");
  }
  return new BatonError("StreamInterrupted", "the stream was interrupted; subscribe again");
}

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** End after the event that brings INPUT_REQUIRED (A2A-100). */
  readonly endOnInputRequired: boolean;
  /** Begin with these events, which lead up to the snapshot, in its stead. */
  readonly missed?: AsyncIterable<LogEvent>;
  /** Called once, on every way out. */
  readonly onEnd?: () => void;
  /** End at a missed INPUT_REQUIRED too that has been answered since: a 0.3 event says that it is the last (A2A-163). */
  readonly endAtPastInputRequired?: boolean;
}

/**
 * The stream of a task: its snapshot, then every later event in order, until a terminal state. With
 * `endOnInputRequired` it also ends after the event that brings INPUT_REQUIRED, but not because the snapshot already
 * stands there (A2A-82 to A2A-89, A2A-100).
 */
export function followTask(
  subscription: Subscription,
  snapshot: TaskSnapshot,
  options: FollowOptions,
): AsyncIterableIterator<Item> {
  return new TaskStream(subscription, snapshot, options);
}

type Item = StreamItem<StreamResponse>;

const OVER: IteratorReturnResult<undefined> = { done: true, value: undefined };

/** No generator: one is held for every stream, and it would hold what it was called with, such as a large task. */
class TaskStream implements AsyncIterableIterator<Item> {
  readonly #subscription: Subscription;
  readonly #signal: AbortSignal;
  readonly #endOnInputRequired: boolean;
  readonly #endAtPast: boolean;
  readonly #onEnd: (() => void) | undefined;
  /** Where the snapshot stands in the log. */
  readonly #begun: number;
  #snapshot: TaskSnapshot | undefined;
  #missed: AsyncIterator<LogEvent> | undefined;
  #reader: { resolve(result: IteratorResult<Item>): void; reject(reason: BatonError): void } | undefined;
  #over = false;
  readonly #wake = () => this.#serve();

  constructor(subscription: Subscription, snapshot: TaskSnapshot, options: FollowOptions) {
    this.#subscription = subscription;
    this.#signal = options.signal;
    this.#endOnInputRequired = options.endOnInputRequired;
    this.#endAtPast = options.endAtPastInputRequired === true;
    this.#onEnd = options.onEnd;
    this.#begun = snapshot.seq;
    this.#snapshot = snapshot;
    this.#missed = options.missed?.[Symbol.asyncIterator]();
    subscription.startAt(snapshot.seq);
    if (this.#signal.aborted) subscription.close();
    else this.#signal.addEventListener("abort", this, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The signal has aborted. */
  handleEvent(): void {
    this.#subscription.close();
  }

  next(): Promise<IteratorResult<Item>> {
    if (this.#over) return Promise.resolve(OVER);
    if (this.#missed !== undefined) return this.#replay(this.#missed);
    const snapshot = this.#snapshot;
    if (snapshot !== undefined) return Promise.resolve(this.#open(snapshot));
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
      this.#serve();
    });
  }

  async return(): Promise<IteratorResult<Item>> {
    const reader = this.#reader;
    this.#reader = undefined;
    this.#end();
    reader?.resolve(OVER);
    return OVER;
  }

  #open(snapshot: TaskSnapshot): IteratorResult<Item> {
    this.#snapshot = undefined;
    const payload = { case: "task", value: snapshot.task } as const;
    if (isTerminal(snapshot.state)) this.#end();
    return { done: false, value: itemOf(snapshot.seq, create(StreamResponseSchema, { payload })) };
  }

  async #replay(missed: AsyncIterator<LogEvent>): Promise<IteratorResult<Item>> {
    try {
      const next = await missed.next();
      if (this.#over) return OVER;
      if (next.done === true) {
        this.#missed = undefined;
        this.#snapshot = undefined;
        return await this.next();
      }
      if (this.#signal.aborted) throw interruption(this.#subscription, this.#signal);
      const { seq, message } = next.value;
      const past = seq < this.#begun && !this.#endAtPast;
      if (isLast(message, this.#endOnInputRequired && !past)) this.#end();
      return { done: false, value: itemOf(seq, message) };
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  /** Gives the reader what there is for it, or waits for that. */
  #serve(): void {
    const reader = this.#reader;
    if (reader === undefined) return;
    for (let notice = this.#subscription.take(); notice !== undefined; notice = this.#subscription.take()) {
      if (this.#signal.aborted) break;
      if (notice.kind !== "event") continue;
      const { seq, message } = notice.event;
      this.#reader = undefined;
      if (isLast(message, this.#endOnInputRequired)) this.#end();
      reader.resolve({ done: false, value: itemOf(seq, message) });
      return;
    }
    if (this.#subscription.ended === undefined) {
      this.#subscription.wait(this.#wake);
      return;
    }
    this.#reader = undefined;
    const error = interruption(this.#subscription, this.#signal);
    this.#end();
    reader.reject(error);
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#snapshot = undefined;
    this.#missed?.return?.().catch(() => {});
    this.#missed = undefined;
    this.#signal.removeEventListener("abort", this);
    this.#subscription.close();
    this.#onEnd?.();
  }
}

function itemOf(seq: number, message: StreamResponse): Item {
  return { id: String(seq), message };
}

function isLast(message: StreamResponse, endOnInputRequired: boolean): boolean {
  const state = stateOf(message);
  if (state === undefined) return false;
  return isTerminal(state) || (endOnInputRequired && state === TaskState.INPUT_REQUIRED);
}

/**
 * Waits until the task is terminal or interrupted, at most `maxWaitMs` (A2A-30). True when it is; false when the time
 * passed first. Throws Canceled when the client went away; the work goes on (A2A-86).
 */
export async function awaitAnswer(
  subscription: Subscription,
  snapshot: TaskSnapshot,
  maxWaitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (isTerminal(snapshot.state) || isInterrupted(snapshot.state)) return true;
  const timer = setTimeout(() => subscription.close(), maxWaitMs);
  const forget = whenAborted(signal, () => subscription.close());
  try {
    subscription.startAt(snapshot.seq);
    for await (const notice of subscription) {
      if (notice.kind !== "event") continue;
      const state = stateOf(notice.event.message);
      if (state !== undefined && (isTerminal(state) || isInterrupted(state))) return true;
    }
    // A shutdown ends the wait and nothing else: the task as it is now is an answer too.
    const drained = signal.reason instanceof StreamEnd && signal.reason.error.kind === "StreamInterrupted";
    if (signal.aborted && !drained) throw interruption(subscription, signal);
    return false;
  } finally {
    clearTimeout(timer);
    forget();
    subscription.close();
  }
}
