/** Milliseconds of each unit of `grpc-timeout`. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** The longest wait of a Node timer; a longer deadline is none, where a timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The deadline of a call in milliseconds from now; undefined for none, NaN for a header that is not valid. */
export function timeoutMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const match = /^(\d{1,8})([HMSmun])$/.exec(header);
  if (match === null) return Number.NaN;
  const ms = Number(match[1]) * (UNITS[match[2] ?? ""] ?? 0);
  return ms > MAX_TIMER_MS ? undefined : ms;
}
