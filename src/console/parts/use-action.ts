import { useState } from "preact/hooks";
import { type Failure, failureOf } from "../api/failure.ts";

export interface Action {
  readonly busy: boolean;
  /** Why it failed the last time. */
  readonly failure: Failure | undefined;
  start(): void;
}

/** Something that a button does: once at a time, its failure kept. */
export function useAction(run: () => Promise<void>): Action {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  return {
    busy,
    failure,
    start() {
      if (busy) return;
      setBusy(true);
      setFailure(undefined);
      run()
        .catch((error: unknown) => setFailure(failureOf(error)))
        .finally(() => setBusy(false));
    },
  };
}
