/** A bound on the event streams of one process: each one holds a connection. */
export class StreamSlots {
  readonly #limit: number;
  #used = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get used(): number {
    return this.#used;
  }

  /** A place, or undefined while all are taken. */
  take(): { release(): void } | undefined {
    if (this.#used >= this.#limit) return undefined;
    this.#used++;
    let held = true;
    return {
      release: () => {
        if (held) this.#used--;
        held = false;
      },
    };
  }
}
