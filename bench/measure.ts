/** What one measurement found. Latencies in milliseconds. */
export interface Measurement {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly calls: number;
  readonly errors: number;
}

/**
 * Keeps `connections` calls in flight for `seconds`, after a warm-up of a fifth of that which is not counted. Each call
 * resolves when its answer is complete and rejects when it is wrong.
 */
export async function measure(
  call: () => Promise<void>,
  connections: number,
  seconds: number,
): Promise<Measurement> {
  const warmUntil = performance.now() + seconds * 200;
  await Promise.all(Array.from({ length: connections }, () => loop(call, warmUntil, () => {})));
  const latencies: number[] = [];
  let errors = 0;
  const started = performance.now();
  const until = started + seconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, () =>
      loop(call, until, (ms, ok) => {
        latencies.push(ms);
        if (!ok) errors += 1;
      }),
    ),
  );
  const elapsed = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    perSecond: latencies.length / elapsed,
    p50: at(0.5),
    p99: at(0.99),
    calls: latencies.length,
    errors,
  };
}

async function loop(
  call: () => Promise<void>,
  until: number,
  note: (ms: number, ok: boolean) => void,
): Promise<void> {
  while (performance.now() < until) {
    const start = performance.now();
    try {
      await call();
      note(performance.now() - start, true);
    } catch {
      note(performance.now() - start, false);
    }
  }
}

/** The middle of an odd number of values, by requests per second. */
export function median(values: readonly Measurement[]): Measurement {
  const sorted = [...values].sort((a, b) => a.perSecond - b.perSecond);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error("nothing was measured");
  return middle;
}
