import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Failure, failureOf } from "./failure.ts";

/** Pause between two readings of what is shown, in milliseconds. */
const EVERY_MS = 2000;
/** The longest pause while the gateway does not answer, in milliseconds. */
const SLOWEST_MS = 30_000;

export interface Live<T> {
  /** The last that was read; kept while a later reading fails. */
  readonly data: T | undefined;
  /** Why the last reading failed. */
  readonly failure: Failure | undefined;
  /** When `data` was read, in milliseconds since the epoch. */
  readonly at: number | undefined;
  /** Reads now. */
  refresh(): void;
}

interface State<T> {
  readonly key: string;
  readonly data: T | undefined;
  readonly failure: Failure | undefined;
  readonly at: number | undefined;
}

/**
 * Keeps what `load` answers up to date while the tab is seen; it is given what it answered before. `key` says what is loaded: when it changes, the old is
 * dropped. `everyMs`: the pause between two readings, or what says it of the last that was read, the same function each
 * time; 0: read once, and on `refresh`.
 */
export function useLive<T>(
  key: string,
  load: (signal: AbortSignal, last: T | undefined) => Promise<T>,
  everyMs: number | ((data: T | undefined) => number) = EVERY_MS,
): Live<T> {
  const [state, setState] = useState<State<T>>({ key, data: undefined, failure: undefined, at: undefined });
  const latest = useRef(load);
  latest.current = load;
  const kick = useRef<() => void>(() => {});

  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let running = false;
    let again = false;
    let last: T | undefined;
    const pauseAfter = (data: T | undefined) => (typeof everyMs === "function" ? everyMs(data) : everyMs);
    const repeats = pauseAfter(undefined) > 0;
    let pause = pauseAfter(undefined);
    const read = async (): Promise<void> => {
      clearTimeout(timer);
      if (running) {
        again = true;
        return;
      }
      running = true;
      again = false;
      try {
        const data = await latest.current(ended.signal, last);
        if (ended.signal.aborted) return;
        last = data;
        pause = pauseAfter(data);
        setState({ key, data, failure: undefined, at: Date.now() });
      } catch (error) {
        if (ended.signal.aborted) return;
        pause = Math.min(SLOWEST_MS, Math.max(pause, EVERY_MS) * 2);
        const failure = failureOf(error);
        setState((before) =>
          before.key === key ? { ...before, failure } : { key, data: undefined, failure, at: undefined },
        );
      } finally {
        running = false;
      }
      if (again) await read();
      else if (repeats && !document.hidden) timer = setTimeout(read, pause);
    };
    const onVisible = () => {
      if (document.hidden) clearTimeout(timer);
      else if (repeats) void read();
    };
    kick.current = () => void read();
    document.addEventListener("visibilitychange", onVisible);
    void read();
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [key, everyMs]);

  const refresh = useCallback(() => kick.current(), []);
  const mine = state.key === key;
  return {
    data: mine ? state.data : undefined,
    failure: mine ? state.failure : undefined,
    at: mine ? state.at : undefined,
    refresh,
  };
}
