/** A family of metrics that somebody else counts, to be printed among our own. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
}

export interface Sample {
  /** `_bucket`, `_sum` or `_count` of a histogram; empty otherwise. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of a histogram from its cumulative buckets, the last of which holds everything. */
export function histogramSamples(state: {
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
  readonly sum: number;
  readonly count: number;
}): readonly Sample[] {
  return [
    ...state.buckets.map(({ le, count }) => ({
      suffix: "_bucket",
      labels: { le: String(le) },
      value: count,
    })),
    { suffix: "_bucket", labels: { le: "+Inf" }, value: state.count },
    { suffix: "_sum", value: state.sum },
    { suffix: "_count", value: state.count },
  ];
}

/** Prints families in the text format of Prometheus, version 0.0.4. */
export function printFamilies(families: readonly MetricFamily[]): string {
  return families
    .map(({ name, help, type, samples }) =>
      [
        `# HELP ${name} ${help.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")}`,
        `# TYPE ${name} ${type}`,
        ...samples.map(
          ({ suffix = "", labels = {}, value }) => `${name}${suffix}${labelText(labels)} ${value}`,
        ),
        "",
      ].join("\n"),
    )
    .join("");
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    const escaped = value.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/"/g, '\\"');
    return `${name}="${escaped}"`;
  });
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}
