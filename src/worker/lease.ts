import { setTimeout as sleep } from "node:timers/promises";

export interface LeaseOptions {
  /** Length of the lease, in milliseconds. */
  readonly ms: number;
  /** Renews it on the gateway; rejects when `signal` aborts. Its rejections are its own affair: the lease then runs on. */
  renew(signal: AbortSignal): Promise<void>;
  /** Called once, when the lease has run out by this machine's clock. */
  onExpired(): void;
}

/**
 * The worker's own view of a lease: renewed at a third of its length, over when a whole length has passed since the last
 * renewal was sent. The gateway counts from when the renewal arrived, so it ends here first. (For the first stretch
 * only the arrival of the claim is known, since a claim may have waited; the fence covers the moment between.)
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #ended = new AbortController();
  #expiry: NodeJS.Timeout | undefined;
  #endsAt = 0;
  /** What was left when the lease was suspended; undefined while it runs. */
  #left: number | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#extend(performance.now());
    void this.#keep();
  }

  /** The client is asked something: the gateway lets the lease stand still, and so do we (SB-31). */
  suspend(): void {
    if (this.#left !== undefined) return;
    this.#left = Math.max(0, this.#endsAt - performance.now());
    clearTimeout(this.#expiry);
  }

  /** The answer is here: what was left of the lease runs on. */
  resume(): void {
    if (this.#left === undefined) return;
    const left = this.#left;
    this.#left = undefined;
    this.#arm(performance.now() + left);
    void this.#renewOnce();
  }

  /** Stops renewing. */
  end(): void {
    clearTimeout(this.#expiry);
    this.#ended.abort();
  }

  async #keep(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await sleep(this.#options.ms / 3, undefined, { signal }).catch(() => {});
      if (!signal.aborted) await this.#renewOnce();
    }
  }

  async #renewOnce(): Promise<void> {
    const sentAt = performance.now();
    try {
      await this.#options.renew(this.#ended.signal);
      this.#extend(sentAt);
    } catch {
      // Told to its owner by `renew`; the expiry decides.
    }
  }

  #extend(from: number): void {
    if (this.#left !== undefined) this.#left = this.#options.ms;
    else this.#arm(from + this.#options.ms);
  }

  #arm(endsAt: number): void {
    if (this.#ended.signal.aborted) return;
    this.#endsAt = endsAt;
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.#options.onExpired(), Math.max(0, endsAt - performance.now()));
  }
}
