/** How long to wait before a worker that died is started again, and when to give up. Times in milliseconds. */
const FIRST_MS = 100;
const LONGEST_MS = 10_000;
/** A worker that lived for so long had started well. */
const STABLE_MS = 30_000;
/** So many short lives in a row, over all workers, are a crash loop. */
const LOOP = 8;

/** Counts short lives over all workers of a gateway: what kills one at once will kill the next. */
export class Restarts {
  #short = 0;

  /** Told of a death and of how long the life was; answers the pause before the next, or undefined to give up. */
  died(livedMs: number): number | undefined {
    if (livedMs >= STABLE_MS) {
      this.#short = 0;
      return FIRST_MS;
    }
    this.#short += 1;
    if (this.#short >= LOOP) return undefined;
    return Math.min(LONGEST_MS, FIRST_MS * 2 ** (this.#short - 1));
  }
}
