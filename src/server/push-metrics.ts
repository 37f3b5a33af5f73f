import { PUSH_HISTOGRAMS, PUSH_METRICS, type PushHistogram, type PushMetrics } from "../push/metrics.ts";
import { histogramSamples, type MetricFamily } from "../telemetry/exposition.ts";

/** What push counts in this process, as families. A counter that never moved is there, too: at 0, without labels. */
export function pushFamilies(metrics: PushMetrics, underWay: number): readonly MetricFamily[] {
  const counted = metrics.counters();
  const counters = Object.entries(PUSH_METRICS).map(([name, help]): MetricFamily => {
    const samples = counted
      .filter((one) => one.name === name)
      .map(({ labels, value }) => ({ labels, value }));
    return { name, help, type: "counter", samples: samples.length === 0 ? [{ value: 0 }] : samples };
  });
  const histograms = Object.entries(PUSH_HISTOGRAMS).map(
    ([name, help]): MetricFamily => ({
      name,
      help,
      type: "histogram",
      // Object.entries forgets what the keys are.
      samples: histogramSamples(metrics.histogram(name as PushHistogram)),
    }),
  );
  const gauge: MetricFamily = {
    name: "baton_push_under_way",
    help: "Pushes whose request is under way in this process",
    type: "gauge",
    samples: [{ value: underWay }],
  };
  return [...counters, ...histograms, gauge];
}
