import { EgressFailed } from "./errors.ts";

/** One time limit over everything that a request does, joined with the caller's own signal. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Why the signal fired: the caller, or the clock. */
  failure(): EgressFailed;
  /** Rejects with {@link failure} when the signal fires, even if `work` never ends. */
  race<T>(work: Promise<T>): Promise<T>;
  /** Stops the clock and lets go of the caller's signal. */
  clear(): void;
}

export function startDeadline(totalMs: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController();
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
    clear() {
      clearTimeout(timer);
      caller?.removeEventListener("abort", onCaller);
    },
  };
}
