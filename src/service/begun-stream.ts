/**
 * A stream whose beginning is work that only its first reader causes. No generator: one is held for every stream. Once it
 * has begun, nothing stands between the reader and the items.
 */
export class BegunStream<T> implements AsyncIterableIterator<T> {
  #begin: (() => Promise<AsyncIterable<T>>) | undefined;
  #items: AsyncIterator<T> | undefined;
  #left = false;

  /** `begin`: throws to refuse. Its items give back what they hold themselves, at their end and when their reader leaves. */
  constructor(begin: () => Promise<AsyncIterable<T>>) {
    this.#begin = begin;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#items !== undefined) return this.#items.next();
    const begin = this.#begin;
    this.#begin = undefined;
    return begin === undefined ? Promise.resolve({ done: true, value: undefined }) : this.#first(begin);
  }

  async return(): Promise<IteratorResult<T>> {
    this.#begin = undefined;
    this.#left = true;
    await this.#items?.return?.();
    return { done: true, value: undefined };
  }

  async #first(begin: () => Promise<AsyncIterable<T>>): Promise<IteratorResult<T>> {
    const items = (await begin())[Symbol.asyncIterator]();
    this.#items = items;
    const first = await items.next();
    if (!this.#left) return first;
    // The reader left while it began.
    await items.return?.();
    return { done: true, value: undefined };
  }
}
