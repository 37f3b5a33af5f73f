/** A family of metrics that somebody else counts, to be printed among our own. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
  /** What the processes of one gateway are together; default `sum`. `first`: they all tell the same. */
  readonly merge?: "sum" | "first" | "min" | "max";
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

/** The families of several processes as those of one. */
export function mergeFamilies(all: readonly (readonly MetricFamily[])[]): readonly MetricFamily[] {
  if (all.length === 1) return all[0] ?? [];
  const names = new Set(all.flatMap((families) => families.map(({ name }) => name)));
  return [...names].flatMap((name) => {
    const same = all.flatMap((families) => families.filter((family) => family.name === name));
    const [first] = same;
    if (first === undefined || first.merge === "first") return first ?? [];
    const merged = new Map<string, Sample>();
    for (const sample of same.flatMap(({ samples }) => samples)) {
      const key = seriesOf(sample);
      const value = merged.get(key)?.value;
      if (value === undefined) merged.set(key, sample);
      else {
        merged.set(key, { ...sample, value: together(first.merge, value, sample.value) });
      }
    }
    return { ...first, samples: [...merged.values()] };
  });
}

/** Which series a sample is of: no labels are the same, said or not, and so are labels in another order. */
function seriesOf({ suffix = "", labels = {} }: Sample): string {
  return JSON.stringify([suffix, ...Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1))]);
}

function together(merge: MetricFamily["merge"], one: number, other: number): number {
  if (merge === "min") return Math.min(one, other);
  return merge === "max" ? Math.max(one, other) : one + other;
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
