import type { Settings, WorkerOptions } from "./options.ts";

/**
 * The callbacks of the options, as they may be called anywhere: what one of them throws, or rejects with, ends neither
 * the work nor the process. It is told to `onError`, and what that throws itself to the process, as a warning.
 */
export function listenersOf(options: WorkerOptions): Pick<Settings, "onError" | "onOutcome"> {
  const onError: Settings["onError"] = (error, todo) => {
    settled(() => options.onError?.(error, todo)).catch((thrown: unknown) =>
      process.emitWarning(`onError of the worker threw: ${asError(thrown).message}`, "BatonWarning"),
    );
  };
  return {
    onError,
    onOutcome(outcome, todo, error) {
      settled(() => options.onOutcome?.(outcome, todo, error)).catch((thrown: unknown) =>
        onError(asError(thrown), todo),
      );
    },
  };
}

/** Calls back at once; what is thrown is a rejection, as it is where the callback is asynchronous. */
async function settled(callback: () => unknown): Promise<void> {
  await callback();
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
