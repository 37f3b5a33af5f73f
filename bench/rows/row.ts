/** What a row of the table is, and how its figure is judged. */
import type { Program } from "../processes.ts";
import type { Use } from "./use.ts";

/** Sizes of a run; see options.ts. */
export interface Sizes {
  /** Calls in flight. */
  readonly connections: number;
  readonly seconds: number;
  readonly rounds: number;
  /** Share of the sizes of the table: 1 is the issue's own figure, such as 1,000,000 tasks. */
  readonly scale: number;
  readonly soakMinutes: number;
  /** A slice that only shows that everything works; its figures mean nothing. */
  readonly quick: boolean;
}

/** What a row is given to work with. */
export interface Bench {
  readonly sizes: Sizes;
  /** Tells what is going on. */
  say(text: string): void;
  /** Runs `work` while the server under test is profiled, where a profile was asked for. */
  watch<T>(server: Program, work: () => Promise<T>): Promise<T>;
}

/** One side of a row over all rounds. */
export interface Series {
  readonly values: readonly number[];
  /** What the server used in each round; absent where nobody looked. */
  readonly uses?: readonly Use[];
}

/** One line of the table. */
export interface Result {
  readonly name: string;
  /** Baton's figure, in `unit`; the median of the rounds. */
  readonly value: number;
  /** The figure beside which it is put, in the same unit; null where the target is an absolute bound. */
  readonly peer: number | null;
  /** Baton's figure over the peer's; null where there is no peer. */
  readonly ratio: number | null;
  readonly target: string;
  readonly pass: boolean;
  readonly unit: string;
  readonly peerName: string | null;
  readonly rounds: readonly number[];
  /** Largest less smallest round, over the median. */
  readonly spread: number;
  /** What else was found; figures of other peers stand here by name. */
  readonly also: Readonly<Record<string, number | string>>;
}

export interface Row {
  /** For `--only` and `npm run profile`. */
  readonly id: string;
  run(bench: Bench): Promise<readonly Result[]>;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error("nothing was measured");
  return middle;
}

/** The value that a share of the sorted values does not exceed. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function spreadOf(values: readonly number[]): number {
  const middle = median(values);
  return middle === 0 ? 0 : (Math.max(...values) - Math.min(...values)) / middle;
}

export interface Comparison {
  readonly name: string;
  readonly unit: string;
  readonly peerName: string;
  /** The ratio must be at least, or at most, this. */
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly ours: Series;
  readonly theirs: Series;
  readonly also?: Readonly<Record<string, number | string>>;
}

/** A server that had work for a smaller share of the time than this was held up by something else. */
const SATURATED = 0.9;

/**
 * A row that is judged by its ratio to a peer, each the median of its rounds. A peer that was not busy all the
 * time was held up by the load, which flatters us: then the ratio by CPU time must hold as well.
 */
export function compare(comparison: Comparison): Result {
  const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY, ours, theirs } = comparison;
  const value = median(ours.values);
  const peer = median(theirs.values);
  const ratio = value / peer;
  const holds = (found: number) => found >= atLeast && found <= atMost;
  const { cpuRatio, ...busy } = byCpu(ours, theirs) ?? { cpuRatio: ratio };
  const flattered = "peerBusy" in busy && busy.peerBusy < SATURATED;
  return {
    name: comparison.name,
    value,
    peer,
    ratio,
    target: comparison.atLeast === undefined ? `at most ${atMost} x` : `at least ${atLeast} x`,
    pass: holds(ratio) && (!flattered || holds(cpuRatio)),
    unit: comparison.unit,
    peerName: comparison.peerName,
    rounds: ours.values,
    spread: spreadOf(ours.values),
    also: { ...("peerBusy" in busy ? { cpuRatio, ...busy } : {}), ...comparison.also },
  };
}

/** A row that is judged by its own figure. */
export function bound(input: {
  readonly name: string;
  readonly unit: string;
  readonly atMost: number;
  readonly values: readonly number[];
  readonly peer?: { readonly name: string; readonly value: number };
  /** Something else that must hold too. */
  readonly unless?: boolean;
  readonly also?: Readonly<Record<string, number | string>>;
}): Result {
  const value = median(input.values);
  const { peer } = input;
  return {
    name: input.name,
    value,
    peer: peer?.value ?? null,
    ratio: peer === undefined ? null : value / peer.value,
    target: `at most ${input.atMost} ${input.unit}`,
    pass: value <= input.atMost && input.unless !== true,
    unit: input.unit,
    peerName: peer?.name ?? null,
    rounds: input.values,
    spread: spreadOf(input.values),
    also: input.also ?? {},
  };
}

/** The line of a row that could not be measured. */
export function failed(id: string, error: unknown): Result {
  return {
    name: id,
    value: Number.NaN,
    peer: null,
    ratio: null,
    target: "to be measured",
    pass: false,
    unit: "",
    peerName: null,
    rounds: [],
    spread: 0,
    also: { error: error instanceof Error ? error.message : String(error) },
  };
}

/**
 * How busy each side was, and the ratio by the CPU time of a call: what the ratio would be, were each held up by its own
 * core alone. On a machine that others use too it is the steadier of the two.
 */
function byCpu(
  ours: Series,
  theirs: Series,
): { readonly cpuRatio: number; readonly serverBusy: number; readonly peerBusy: number } | undefined {
  if (ours.uses === undefined || theirs.uses === undefined) return undefined;
  const perCpu = ({ values, uses = [] }: Series) =>
    median(values.map((value, index) => value / (uses[index]?.cpu ?? Number.NaN)));
  return {
    cpuRatio: perCpu(ours) / perCpu(theirs),
    serverBusy: median(ours.uses.map(({ busy }) => busy)),
    peerBusy: median(theirs.uses.map(({ busy }) => busy)),
  };
}
