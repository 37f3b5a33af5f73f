/** What a stretch of work cost Redis, by its own count. */
import { ask } from "../src/redis/ask.ts";

export interface PhaseCost {
  readonly calls: number;
  /** Of a call of the script, all in all. */
  readonly microseconds: number;
  /** Of it, what the commands took that the script called. */
  readonly inner: number;
  /** How many it called. */
  readonly commands: number;
  /** The dearest of them, in microseconds of a call of the script. */
  readonly dearest: readonly { readonly name: string; readonly microseconds: number }[];
}

const LINE = /^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm;
/** What is no part of any script: the questions asked here. */
const OURS = new Set(["info", "config|resetstat"]);

/** Costs of a call of the one script that `work` runs. Nobody else may use the server meanwhile. */
export async function commandCosts(socketPath: string, work: () => Promise<void>): Promise<PhaseCost> {
  await ask(socketPath, "CONFIG RESETSTAT");
  await work();
  const found = [...(await ask(socketPath, "INFO commandstats")).matchAll(LINE)].map(
    ([, name, calls, usec]) => ({
      name: String(name),
      calls: Number(calls),
      usec: Number(usec),
    }),
  );
  const script = found.find(({ name }) => name === "evalsha");
  if (script === undefined) throw new Error("no script ran");
  const inner = found.filter(({ name }) => name !== "evalsha" && !OURS.has(name));
  const each = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / script.calls;
  return {
    calls: script.calls,
    microseconds: script.usec / script.calls,
    inner: each(inner.map(({ usec }) => usec)),
    commands: each(inner.map(({ calls }) => calls)),
    dearest: inner
      .toSorted((a, b) => b.usec - a.usec)
      .slice(0, 4)
      .map(({ name, usec }) => ({ name, microseconds: usec / script.calls })),
  };
}
