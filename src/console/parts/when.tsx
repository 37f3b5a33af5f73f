/** Points in time and spans, as people say them; the exact time is in the title. */
import { type Duration, durationMs, type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { useSyncExternal } from "../api/store.ts";

const TICK_MS = 5000;

const listeners = new Set<() => void>();
let now = Date.now();
let ticking: ReturnType<typeof setInterval> | undefined;

/** `at` relative to now, such as `3 min ago` or `in 2 h`. Nothing for no time. */
export function When({ at, none = "never" }: { readonly at: Timestamp | undefined; readonly none?: string }) {
  const current = useSyncExternal(subscribe, currentTime);
  if (at === undefined) return <span class="faint">{none}</span>;
  const date = new Date(timestampMs(at));
  return (
    <time dateTime={date.toISOString()} title={absolute(date)}>
      {relative(date.getTime() - current)}
    </time>
  );
}

/** The time of day, for lists that are read from top to bottom. */
export function Clock({ at }: { readonly at: Timestamp | undefined }) {
  if (at === undefined) return null;
  const date = new Date(timestampMs(at));
  return (
    <time dateTime={date.toISOString()} title={absolute(date)}>
      {date.toLocaleTimeString(undefined, { hour12: false })}.
      {String(date.getMilliseconds()).padStart(3, "0")}
    </time>
  );
}

export function durationText(duration: Duration | undefined): string {
  return duration === undefined ? "" : span(durationMs(duration));
}

/** Milliseconds as one number and unit. */
export function span(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 360) / 10} h`;
  return `${Math.round(seconds / 8640) / 10} d`;
}

function relative(ms: number): string {
  const far = Math.abs(ms);
  if (far < 5000) return "just now";
  const text = span(far < 60_000 ? Math.round(far / 1000) * 1000 : far);
  return ms < 0 ? `${text} ago` : `in ${text}`;
}

function absolute(date: Date): string {
  return `${date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" })} (${date.toISOString()})`;
}

const currentTime = () => now;

/** One clock for all, which stands still while nobody looks at a time. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (ticking === undefined) {
    now = Date.now();
    ticking = setInterval(() => {
      now = Date.now();
      for (const each of listeners) each();
    }, TICK_MS);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };
}
