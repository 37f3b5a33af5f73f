/** Reads a `.cpuprofile`: the time that each function spent in itself. */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The parts of the format of V8 that matter here. Times in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

export interface SelfTime {
  readonly name: string;
  /** File below the working folder and line, or what V8 calls the place. */
  readonly place: string;
  readonly ms: number;
  /** Of the time that was not idle. */
  readonly share: number;
}

const NO_WORK = new Set(["(root)", "(idle)"]);

/** Functions by time of their own, longest first. Idle time is left out. */
export function selfTimes(profile: CpuProfile): SelfTime[] {
  const micros = new Map<number, number>();
  for (const [index, id] of profile.samples.entries()) {
    // A delta is the time before its sample: the sample stands for the time until the next one.
    const until = profile.timeDeltas[index + 1] ?? 0;
    micros.set(id, (micros.get(id) ?? 0) + Math.max(0, until));
  }
  const functions = new Map<string, { name: string; place: string; micros: number }>();
  let busy = 0;
  for (const { id, callFrame } of profile.nodes) {
    const own = micros.get(id) ?? 0;
    if (own === 0 || NO_WORK.has(callFrame.functionName)) continue;
    busy += own;
    const name = callFrame.functionName || "(anonymous)";
    const place = placeOf(callFrame.url, callFrame.lineNumber);
    const known = functions.get(`${name} ${place}`) ?? { name, place, micros: 0 };
    known.micros += own;
    functions.set(`${name} ${place}`, known);
  }
  return [...functions.values()]
    .sort((a, b) => b.micros - a.micros)
    .map(({ name, place, micros: own }) => ({ name, place, ms: own / 1000, share: own / busy }));
}

function placeOf(url: string, line: number): string {
  if (url === "") return "";
  if (!url.startsWith("file:")) return `${url}:${line + 1}`;
  const path = relative(process.cwd(), fileURLToPath(url));
  return `${path.slice(Math.max(0, path.lastIndexOf("node_modules/")))}:${line + 1}`;
}
