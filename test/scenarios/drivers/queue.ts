/** Turns callbacks into a pull: what a callback client delivers waits here until the table asks for it. */
export class Arrivals<T> {
  readonly #items: T[] = [];
  #end: { error?: unknown } | undefined;
  #wake: (() => void) | undefined;

  push(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }

  /** Nothing more comes; with an error, that is what the reader gets after what has arrived. */
  end(error?: unknown): void {
    this.#end ??= error === undefined ? {} : { error };
    this.#wake?.();
  }

  /** The next item; undefined after a clean end. */
  async next(): Promise<T | undefined> {
    for (;;) {
      if (this.#items.length > 0) return this.#items.shift();
      if (this.#end !== undefined) {
        if (this.#end.error !== undefined) throw this.#end.error;
        return undefined;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}

/**
 * Waits for the first item of a stream and puts it back in front: a stream counts as open when something arrived
 * (A2A-80).
 */
export async function primed<T>(next: () => Promise<T | undefined>): Promise<() => Promise<T | undefined>> {
  const first = { item: await next(), taken: false };
  return async () => {
    if (first.taken) return next();
    first.taken = true;
    return first.item;
  };
}
