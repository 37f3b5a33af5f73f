import { Code, ConnectError } from "@connectrpc/connect";
import { BatonError } from "../../domain/errors.ts";

/**
 * Waits for `work`, but no longer than the signal lasts. A handler that overlooks the signal then holds up nobody; what
 * it comes to later is given to `late`. The listener is gone after each wait, so that a long stream gathers none.
 */
export function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  late: (result: T) => void = () => {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(abortError(signal));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    work.then(
      (result) => {
        signal.removeEventListener("abort", onAbort);
        if (signal.aborted) late(result);
        resolve(result);
      },
      (error: unknown) => {
        signal.removeEventListener("abort", onAbort);
        reject(error);
      },
    );
  });
}

/** Why a call was cut: its deadline, or its client. */
export function abortError(signal: AbortSignal): BatonError {
  const reason: unknown = signal.reason;
  if (reason instanceof ConnectError && reason.code === Code.DeadlineExceeded) {
    return new BatonError("DeadlineExceeded", "the deadline of the call has passed");
  }
  return new BatonError("Canceled", "the call was canceled");
}
