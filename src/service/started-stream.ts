import { BatonError } from "../domain/errors.ts";
import type { StreamItem } from "./call.ts";

/**
 * A stream whose first item has been produced already. Its producer is closed on every way out: at the end, when its
 * reader stops, and when the client goes away before anybody began to read.
 */
export class StartedStream<T> implements AsyncIterableIterator<StreamItem<T>> {
  #first: IteratorResult<StreamItem<T>> | undefined;
  readonly #producer: AsyncIterator<StreamItem<T>>;
  readonly #signal: AbortSignal;
  #lastId: string | undefined;
  readonly #onAbort = () => void this.return().catch(() => {});

  constructor(
    first: IteratorResult<StreamItem<T>>,
    producer: AsyncIterator<StreamItem<T>>,
    signal: AbortSignal,
  ) {
    this.#first = first;
    this.#producer = producer;
    this.#signal = signal;
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<StreamItem<T>>> {
    const first = this.#first;
    if (first !== undefined) {
      // Whoever reads closes it as well, and is told of the abort by the producer.
      this.#signal.removeEventListener("abort", this.#onAbort);
      this.#first = undefined;
    }
    try {
      const result = first ?? (await this.#producer.next());
      if (result.done !== true && result.value.id !== undefined) this.#lastId = result.value.id;
      return result;
    } catch (thrown) {
      throw BatonError.from(thrown);
    }
  }

  /** Where the reader stands in the task log: what it resumes from on a binding whose messages carry no id. */
  trailers(): Readonly<Record<string, string>> {
    return this.#lastId === undefined ? {} : { "a2a-last-event-id": this.#lastId };
  }

  async return(): Promise<IteratorResult<StreamItem<T>>> {
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#first = undefined;
    await this.#producer.return?.();
    return { done: true, value: undefined };
  }
}
