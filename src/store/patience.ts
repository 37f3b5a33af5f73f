import { setMaxListeners } from "node:events";

/** How many deadlines are open at once: the wait ends at most this share of itself late. */
const SHARE = 8;

/**
 * How long commands wait to be sent. node-redis makes a timer for each command where it is told a time, which costs more
 * than the command; here all commands of a short while share one deadline.
 */
export class Patience {
  readonly #ms: number;
  readonly #windowMs: number;
  #until = 0;
  #signal: AbortSignal | undefined;

  /** `ms`: the shortest wait, in milliseconds. */
  constructor(ms: number) {
    this.#ms = ms;
    this.#windowMs = Math.max(1, Math.floor(ms / SHARE));
  }

  /** Aborted when a command that is given it now has waited long enough. */
  get signal(): AbortSignal {
    const now = Date.now();
    if (this.#signal !== undefined && now < this.#until) return this.#signal;
    this.#until = now + this.#windowMs;
    const deadline = new AbortController();
    // Each waiting command is a listener.
    setMaxListeners(0, deadline.signal);
    setTimeout(() => deadline.abort(), this.#ms + this.#windowMs).unref();
    this.#signal = deadline.signal;
    return this.#signal;
  }
}
