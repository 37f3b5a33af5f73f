import { BatonError } from "../domain/errors.ts";
import type { Call } from "./call.ts";

/** After the end of a credential its streams may still bring the end of its tasks, for so long, in milliseconds (SB-27). */
const LAST_WORDS_MS = 500;

/** Reason of the abort signal of a stream that the server ends. */
export class StreamEnd extends Error {
  override readonly name = "StreamEnd";
  readonly error: BatonError;

  constructor(error: BatonError) {
    super(error.message);
    this.error = error;
  }
}

/**
 * The open streams of this process, so that revocation and shutdown can end them and nothing stays registered
 * (SB-48, SB-59).
 */
export class OpenStreams {
  readonly #streams = new Map<string, Set<AbortController>>();
  #draining = false;
  #onExpired: (callerId: string) => void = () => {};

  /** How many streams are open. */
  get size(): number {
    let size = 0;
    for (const streams of this.#streams.values()) size += streams.size;
    return size;
  }

  /** Whether the gateway is shutting down. */
  get draining(): boolean {
    return this.#draining;
  }

  /**
   * Registers a stream of the call's endpoint. The signal aborts when the client goes away, and with a
   * {@link StreamEnd} when the server ends it. Call `release` on every exit.
   */
  open(call: Call): { readonly signal: AbortSignal; release(): void } {
    if (this.#draining) {
      throw new BatonError("Unavailable", "the gateway is shutting down", { retryAfterMs: 1000 });
    }
    return this.#register(call);
  }

  /**
   * Registers the wait of a call that has an answer at any time, such as a blocking send. A shutdown aborts it like a
   * stream, at once where it has already begun, so that the answer goes out now.
   */
  openWait(call: Call): { readonly signal: AbortSignal; release(): void } {
    if (this.#draining) return { signal: AbortSignal.abort(shuttingDown()), release: () => {} };
    return this.#register(call);
  }

  #register(call: Call): { readonly signal: AbortSignal; release(): void } {
    const controller = new AbortController();
    const own = this.#streams.get(call.caller.id) ?? new Set();
    this.#streams.set(call.caller.id, own);
    own.add(controller);
    const { id, expiresAt } = call.caller;
    let timer: NodeJS.Timeout | undefined;
    const expire = (): void => {
      this.#onExpired(id);
      timer = setTimeout(() => controller.abort(credentialEnded()), LAST_WORDS_MS);
    };
    if (expiresAt !== undefined && expiresAt - Date.now() <= 2 ** 31 - 1) {
      timer = setTimeout(expire, Math.max(0, expiresAt - Date.now()));
    }
    // Not AbortSignal.any: it keeps books of weak references, which costs more than all else about a stream.
    const { signal } = call;
    const leave = (): void => controller.abort(signal.reason);
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    return {
      signal: controller.signal,
      release: () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", leave);
        own.delete(controller);
        if (own.size === 0 && this.#streams.get(call.caller.id) === own) this.#streams.delete(call.caller.id);
      },
    };
  }

  /** Whom to tell of an endpoint that expires while it has streams open, so that its work is ended before they are. */
  whenExpired(callback: (callerId: string) => void): void {
    this.#onExpired = callback;
  }

  /** Ends the streams that a revoked endpoint has open now, after their last words. */
  endOf(callerId: string): void {
    const streams = [...(this.#streams.get(callerId) ?? [])];
    const end = (): void => {
      for (const controller of streams) controller.abort(credentialEnded());
    };
    if (streams.length > 0) setTimeout(end, LAST_WORDS_MS).unref();
  }

  /** Ends all streams so that clients subscribe again elsewhere, and refuses new ones. */
  drain(): void {
    this.#draining = true;
    const end = shuttingDown();
    for (const streams of this.#streams.values()) for (const controller of streams) controller.abort(end);
  }
}

function shuttingDown(): StreamEnd {
  return new StreamEnd(
    new BatonError("StreamInterrupted", "the gateway is shutting down; subscribe again", { retryAfterMs: 0 }),
  );
}

function credentialEnded(): StreamEnd {
  return new StreamEnd(new BatonError("Unauthenticated", "invalid or revoked credential"));
}
