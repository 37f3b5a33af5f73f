/** Names, kinds and meanings of what push counts. Units are in the names. */
export const PUSH_METRICS = {
  baton_push_attempts_total: "Requests to receivers, by outcome and reason",
  baton_push_outcomes_total: "Pushes that ended, by outcome (delivered, dead) and reason",
  baton_push_held_back_total: "Times that a push had to wait before its request, by cause",
  baton_push_egress_decisions_total: "Decisions of the egress guard, by arm, reason and range",
  baton_push_relayed_total: "Entries moved from the outbox to lanes",
  baton_push_requeued_total: "Lanes that were found without a job and queued again",
  baton_push_registrations_total: "Registrations of push configs, by outcome",
} as const;

export type PushCounter = keyof typeof PUSH_METRICS;

export const PUSH_HISTOGRAMS = {
  baton_push_attempt_seconds: "Duration of a request to a receiver",
  baton_push_delay_seconds: "From the commit of an event to its delivery",
} as const;

export type PushHistogram = keyof typeof PUSH_HISTOGRAMS;

export type Labels = Readonly<Record<string, string>>;

/** Upper bounds, in seconds. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600] as const;

export interface HistogramState {
  /** Observations at most BOUNDS[i], and a last one for all larger. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
  readonly sum: number;
  readonly count: number;
}

/**
 * The counters of push in this process. Label values come from closed lists, except `range`, which comes from the
 * egress guard's own table; so the number of series is bounded.
 */
export class PushMetrics {
  readonly #counters = new Map<PushCounter, Map<string, { labels: Labels; value: number }>>();
  readonly #histograms = new Map<PushHistogram, { counts: number[]; sum: number; count: number }>();

  count(name: PushCounter, labels: Labels = {}, by = 1): void {
    const series = this.#counters.get(name) ?? new Map<string, { labels: Labels; value: number }>();
    this.#counters.set(name, series);
    const key = Object.values(labels).join("\0");
    const entry = series.get(key);
    if (entry === undefined) series.set(key, { labels, value: by });
    else entry.value += by;
  }

  observe(name: PushHistogram, seconds: number): void {
    const state = this.#histograms.get(name) ?? { counts: BOUNDS.map(() => 0), sum: 0, count: 0 };
    this.#histograms.set(name, state);
    const at = BOUNDS.findIndex((bound) => seconds <= bound);
    if (at >= 0) state.counts[at] = (state.counts[at] ?? 0) + 1;
    state.sum += seconds;
    state.count++;
  }

  /** The sum of all series of a counter whose labels include `labels`. */
  value(name: PushCounter, labels: Labels = {}): number {
    let sum = 0;
    for (const entry of this.#counters.get(name)?.values() ?? []) {
      if (Object.entries(labels).every(([key, text]) => entry.labels[key] === text)) sum += entry.value;
    }
    return sum;
  }

  counters(): { readonly name: PushCounter; readonly labels: Labels; readonly value: number }[] {
    return [...this.#counters].flatMap(([name, series]) =>
      [...series.values()].map(({ labels, value }) => ({ name, labels, value })),
    );
  }

  /** Cumulative, as Prometheus has it. */
  histogram(name: PushHistogram): HistogramState {
    const state = this.#histograms.get(name);
    let running = 0;
    const buckets = BOUNDS.map((le, i) => {
      running += state?.counts[i] ?? 0;
      return { le, count: running };
    });
    return { buckets, sum: state?.sum ?? 0, count: state?.count ?? 0 };
  }
}
