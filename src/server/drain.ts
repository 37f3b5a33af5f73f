import type { EventEmitter } from "node:events";
import type { Answering } from "./stalled-answers.ts";

/** Responses that have begun and not ended; what a drain waits for. */
export class InFlight {
  readonly #open = new Set<Answering>();
  #idle: (() => void)[] = [];

  get size(): number {
    return this.#open.size;
  }

  add(response: Answering): void {
    this.#open.add(response);
    // Closed once; `once` would make more objects than the listener is.
    // The union of their signatures does not say that all have it.
    (response as EventEmitter).on("close", () => {
      this.#open.delete(response);
      if (this.#open.size > 0) return;
      const waiting = this.#idle;
      this.#idle = [];
      for (const resolve of waiting) resolve();
    });
  }

  values(): Iterable<Answering> {
    return this.#open;
  }

  /** Resolves when nothing is in flight, at the latest after `ms`. */
  async settled(ms: number): Promise<void> {
    if (this.#open.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
  }
}
