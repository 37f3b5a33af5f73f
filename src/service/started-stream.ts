import { BatonError } from "../domain/errors.ts";
import type { StreamItem } from "./call.ts";
import type { ObservedCall } from "./observed-call.ts";

const OVER: IteratorReturnResult<undefined> = { done: true, value: undefined };

/**
 * A stream whose first item has been produced already. Its producer is closed on every way out: at the end, when its
 * reader stops, and when the client goes away before anybody began to read. No async functions for its items: one would
 * be held for every stream that waits for its next.
 */
export class StartedStream<T> implements AsyncIterableIterator<StreamItem<T>> {
  #first: IteratorResult<StreamItem<T>> | undefined;
  readonly #producer: AsyncIterator<StreamItem<T>>;
  readonly #signal: AbortSignal;
  readonly #observed: ObservedCall | undefined;
  #lastId: string | undefined;
  readonly #take = (result: IteratorResult<StreamItem<T>>) => this.#taken(result);
  readonly #fail = (thrown: unknown): never => this.#failed(thrown);

  /** `observed` is told of the end of the stream. */
  constructor(
    first: IteratorResult<StreamItem<T>>,
    producer: AsyncIterator<StreamItem<T>>,
    signal: AbortSignal,
    observed?: ObservedCall,
  ) {
    this.#first = first;
    this.#producer = producer;
    this.#signal = signal;
    this.#observed = observed;
    if (signal.aborted) this.handleEvent();
    else signal.addEventListener("abort", this, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The client has gone, and nobody has begun to read. */
  handleEvent(): void {
    this.return().catch(() => {});
  }

  next(): Promise<IteratorResult<StreamItem<T>>> {
    const first = this.#first;
    if (first !== undefined) {
      // Whoever reads closes it as well, and is told of the abort by the producer.
      this.#signal.removeEventListener("abort", this);
      this.#first = undefined;
      return Promise.resolve(this.#taken(first));
    }
    const next = this.#observed?.next(this.#producer) ?? this.#producer.next();
    return next.then(this.#take, this.#fail);
  }

  /** Where the reader stands in the task log: what it resumes from on a binding whose messages carry no id. */
  trailers(): Readonly<Record<string, string>> {
    return this.#lastId === undefined ? {} : { "a2a-last-event-id": this.#lastId };
  }

  async return(): Promise<IteratorResult<StreamItem<T>>> {
    this.#signal.removeEventListener("abort", this);
    this.#first = undefined;
    this.#observed?.endStream();
    await this.#producer.return?.();
    return OVER;
  }

  #taken(result: IteratorResult<StreamItem<T>>): IteratorResult<StreamItem<T>> {
    if (result.done === true) this.#observed?.endStream();
    else if (result.value.id !== undefined) this.#lastId = result.value.id;
    return result;
  }

  #failed(thrown: unknown): never {
    const error = BatonError.from(thrown);
    this.#observed?.end(error.kind);
    throw error;
  }
}
