export interface WatchdogOptions {
  /** Pause between two questions, in milliseconds. */
  readonly everyMs: number;
  /** So many questions in a row without an answer are silence. */
  readonly misses: number;
  ask(): void;
  onSilent(): void;
}

/**
 * Finds out that a worker hangs, as in an endless loop: it holds its ports, and every connection that the system deals to
 * it waits for ever. Counts questions and not time: where the whole machine stood still, nobody was silent.
 */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #timer: NodeJS.Timeout;
  #missed = 0;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#ask(), options.everyMs);
  }

  /** The worker has said something. */
  heard(): void {
    this.#missed = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #ask(): void {
    const { misses, ask, onSilent } = this.#options;
    if (this.#missed >= misses) {
      this.stop();
      onSilent();
      return;
    }
    this.#missed += 1;
    ask();
  }
}
