import type { SseEvent } from "./sse.ts";

type Frame = SseEvent | Buffer;

const OVER: IteratorReturnResult<undefined> = { done: true, value: undefined };

/**
 * The items of a stream as the events of a binding; an error is the last of them. No generator: one is held for every
 * stream.
 */
export class FramedEvents<T> implements AsyncIterableIterator<Frame> {
  readonly #items: AsyncIterator<T>;
  readonly #frame: (item: T) => Frame;
  readonly #errorFrame: (thrown: unknown) => Frame;
  #over = false;
  readonly #take = (next: IteratorResult<T>) => this.#taken(next);
  readonly #fail = (thrown: unknown) => this.#failed(thrown);

  /** `frame`: may throw; `errorFrame` must not. */
  constructor(items: AsyncIterable<T>, frame: (item: T) => Frame, errorFrame: (thrown: unknown) => Frame) {
    this.#items = items[Symbol.asyncIterator]();
    this.#frame = frame;
    this.#errorFrame = errorFrame;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Frame>> {
    return this.#over ? Promise.resolve(OVER) : this.#items.next().then(this.#take, this.#fail);
  }

  async return(): Promise<IteratorResult<Frame>> {
    if (!this.#over) {
      this.#over = true;
      await this.#items.return?.();
    }
    return OVER;
  }

  #taken(next: IteratorResult<T>): IteratorResult<Frame> {
    if (next.done === true) {
      this.#over = true;
      return OVER;
    }
    try {
      return { done: false, value: this.#frame(next.value) };
    } catch (thrown) {
      this.#items.return?.().catch(() => {});
      return this.#failed(thrown);
    }
  }

  #failed(thrown: unknown): IteratorResult<Frame> {
    // Whoever has left is told nothing.
    if (this.#over) return OVER;
    this.#over = true;
    return { done: false, value: this.#errorFrame(thrown) };
  }
}
