import type { LogEvent } from "./task-log.ts";

/** What a subscriber is told. `message`: a client's message was stored at that position of the history. */
export type FeedNotice =
  | { readonly kind: "event"; readonly event: LogEvent }
  | { readonly kind: "message"; readonly position: number };

/** Whom a subscription belongs to. */
export interface SubscriptionOwner {
  remove(subscription: Subscription): void;
  /** A subscription has found a gap: fill it from the log. */
  check(): void;
}

const OVER: IteratorReturnResult<undefined> = { done: true, value: undefined };
const NO_EVENTS: readonly LogEvent[] = [];

/**
 * One reader of a task log: an async iterable of notices in order, with a bounded buffer. A reader that falls behind
 * the bound is ended with `overflow`; single events are never dropped (A2A-95, SB-49).
 */
export class Subscription implements AsyncIterable<FeedNotice> {
  /** Why the iteration ended before its consumer wanted it to. */
  ended: "overflow" | "gap" | "closed" | undefined;
  readonly #limit: number;
  readonly #owner: SubscriptionOwner;
  readonly #queue: FeedNotice[] = [];
  /** Published before {@link startAt}; undefined once that was called. */
  #early: LogEvent[] | undefined = [];
  #position: number | undefined;
  #wake: (() => void) | undefined;

  constructor(limit: number, owner: SubscriptionOwner) {
    this.#limit = limit;
    this.#owner = owner;
  }

  /** The last event taken in; undefined before {@link startAt}. */
  get position(): number | undefined {
    return this.#position;
  }

  /** From now on, hand out the events after `seq`. Those published meanwhile are already here. */
  startAt(seq: number): void {
    this.#position = seq;
    const early = this.#early ?? NO_EVENTS;
    this.#early = undefined;
    for (const event of early) this.offer(event, false);
  }

  offer(event: LogEvent, fromLog: boolean): void {
    if (this.ended !== undefined) return;
    if (this.#position === undefined) {
      this.#early?.push(event);
      return;
    }
    if (event.seq <= this.#position) return;
    if (event.seq > this.#position + 1) {
      if (fromLog) this.#end("gap");
      else this.#owner.check();
      return;
    }
    this.#position = event.seq;
    this.tell({ kind: "event", event });
  }

  tell(notice: FeedNotice): void {
    if (this.ended !== undefined) return;
    if (this.#queue.length >= this.#limit) {
      this.#end("overflow");
      return;
    }
    this.#queue.push(notice);
    this.#rouse();
  }

  close(): void {
    this.#end("closed");
  }

  /** The next notice that is here. Undefined: none is, and where {@link ended} says so none will be. */
  take(): FeedNotice | undefined {
    return this.#queue.shift();
  }

  /** Calls `wake` once: with the next notice, or at the end. One reader at a time. */
  wait(wake: () => void): void {
    this.#wake = wake;
  }

  [Symbol.asyncIterator](): AsyncIterator<FeedNotice> {
    return {
      next: () => {
        const notice = this.take();
        if (notice !== undefined) return Promise.resolve({ done: false, value: notice });
        if (this.ended !== undefined) return Promise.resolve(OVER);
        return new Promise((resolve) => {
          this.wait(() => {
            const next = this.take();
            resolve(next === undefined ? OVER : { done: false, value: next });
          });
        });
      },
      return: () => {
        this.#end("closed");
        return Promise.resolve(OVER);
      },
    };
  }

  #rouse(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #end(reason: "overflow" | "gap" | "closed"): void {
    if (this.ended !== undefined) return;
    this.ended = reason;
    this.#early = undefined;
    this.#owner.remove(this);
    this.#rouse();
  }
}
