/** The load of the unary rows, in a process of its own. */
import { ready } from "../program.ts";
import { percentile } from "../rows/row.ts";
import { type Done, openCaller, promiseOf, type Subject, type Unary } from "./unary.ts";

/** What one round found. Latencies in milliseconds. */
export interface Round {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
}

interface Order {
  readonly call: Unary;
  readonly subject: Subject;
  /** Calls in flight. */
  readonly connections: number;
  readonly seconds: number;
}

/** Keeps the calls in flight for a time. A first call that fails says why; in the loop failures are only counted. */
async function round({ call, subject, connections, seconds }: Order): Promise<Round> {
  const caller = await openCaller(call, subject, connections);
  const [first] = caller.calls;
  if (first !== undefined) await promiseOf(first);
  const latencies: number[] = [];
  let errors = 0;
  const started = performance.now();
  const until = started + seconds * 1000;
  const over = caller.calls.map((start) => {
    const ended = Promise.withResolvers<void>();
    let begun = started;
    const done: Done = (error) => {
      if (error !== undefined) errors += 1;
      const now = performance.now();
      latencies.push(now - begun);
      begun = now;
      if (now < until) start(done);
      else ended.resolve();
    };
    start(done);
    return ended.promise;
  });
  await Promise.all(over);
  const elapsed = (performance.now() - started) / 1000;
  caller.close();
  latencies.sort((a, b) => a - b);
  return {
    perSecond: (latencies.length - errors) / elapsed,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    errors,
  };
}

ready({}, { round });
