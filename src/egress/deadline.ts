import { EgressFailed } from "./errors.ts";

/** One time limit over everything that a request does, joined with the caller's own signal. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Milliseconds that are left, never below 1. */
  remaining(): number;
  /** Why the signal fired: the caller, or the clock. */
  failure(): EgressFailed;
  /** Rejects with {@link failure} when the signal fires, even if `work` never ends. */
  race<T>(work: Promise<T>): Promise<T>;
  [Symbol.dispose](): void;
}

export function startDeadline(totalMs: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController();
  const end = performance.now() + totalMs;
  let byCaller = false;
  const onCaller = () => {
    byCaller = true;
    controller.abort();
  };
  const timer = setTimeout(() => controller.abort(), totalMs);
  if (caller?.aborted) onCaller();
  caller?.addEventListener("abort", onCaller, { once: true });
  const failure = () => new EgressFailed(byCaller ? "aborted" : "total_timeout");
  return {
    signal: controller.signal,
    remaining: () => Math.max(1, end - performance.now()),
    failure,
    async race(work) {
      if (controller.signal.aborted) {
        work.catch(() => undefined);
        throw failure();
      }
      const fired = Promise.withResolvers<never>();
      const onAbort = () => fired.reject(failure());
      controller.signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await Promise.race([work, fired.promise]);
      } finally {
        controller.signal.removeEventListener("abort", onAbort);
      }
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      caller?.removeEventListener("abort", onCaller);
    },
  };
}
