import { setTimeout as sleep } from "node:timers/promises";
import { verdictOf } from "./errors.ts";

const FIRST_MS = 200;
const LONGEST_MS = 5_000;

/** Growing pauses with jitter, so that many workers do not return to a restarted gateway in one wave. */
export class Backoff {
  #next = FIRST_MS;

  /** Waits; ends early, without an error, when `signal` aborts. */
  async pause(signal: AbortSignal): Promise<void> {
    const ms = this.#next * (0.5 + Math.random() / 2);
    this.#next = Math.min(LONGEST_MS, this.#next * 2);
    await sleep(ms, undefined, { signal }).catch(() => {});
  }

  reset(): void {
    this.#next = FIRST_MS;
  }
}

/**
 * Makes a call until it has an answer other than "the gateway is away", or `signal` aborts; then it throws the reason
 * of the signal. `repeated` tells the call that an earlier try may have been carried out without its answer arriving.
 */
export async function persist<T>(
  call: (repeated: boolean) => Promise<T>,
  signal: AbortSignal,
  onRetry: (error: unknown) => void,
): Promise<T> {
  const backoff = new Backoff();
  for (let tries = 0; ; tries += 1) {
    signal.throwIfAborted();
    try {
      return await call(tries > 0);
    } catch (error) {
      signal.throwIfAborted();
      if (verdictOf(error) !== "again") throw error;
      onRetry(error);
      await backoff.pause(signal);
    }
  }
}
