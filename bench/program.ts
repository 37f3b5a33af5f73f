/**
 * The side of a bench program that runs in a process of its own: it answers commands of the bench over IPC. Every
 * program answers `used`, `memory`, `profile` and `profiled` besides its own.
 */
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Used } from "./rows/use.ts";

type Command = (argument: never) => unknown;

/** What is given back before the memory is looked at: nothing, garbage, or also the pages that V8 keeps for more of it. */
export type Collection = "nothing" | "garbage" | "all";

/** Bytes of this process. */
export interface Memory {
  readonly rss: number;
  readonly live: number;
}

let session: Session | undefined;

const COMMON: Record<string, Command> = {
  used: (): Used => {
    const { user, system } = process.cpuUsage();
    return { cpu: (user + system) / 1e6, busy: performance.eventLoopUtilization().active / 1000 };
  },
  memory: (collect: Collection): Memory => {
    if (collect !== "nothing") {
      setFlagsFromString("--expose-gc");
      const gc = runInNewContext("gc") as (options: object) => void;
      gc({ type: "major", flavor: collect === "all" ? "last-resort" : "regular" });
    }
    const { rss, heapUsed, external } = process.memoryUsage();
    return { rss, live: heapUsed + external };
  },
  profile: async () => {
    session = new Session();
    session.connect();
    await session.post("Profiler.enable");
    await session.post("Profiler.setSamplingInterval", { interval: 500 });
    await session.post("Profiler.start");
  },
  profiled: async (file: string) => {
    if (session === undefined) throw new Error("no profile is being taken");
    const { profile } = await session.post("Profiler.stop");
    session.disconnect();
    session = undefined;
    writeFileSync(file, JSON.stringify(profile));
  },
};

/** What the program was started with. */
export function startedWith<T>(): T {
  return JSON.parse(process.argv[2] ?? "{}") as T;
}

/**
 * Says that the program is ready, with what its users need to know, and serves `commands` until the bench goes away;
 * then it does `last` and ends.
 */
export function ready(
  about: unknown,
  commands: Record<string, Command> = {},
  last: () => Promise<unknown> = async () => {},
): void {
  const all = { ...COMMON, ...commands };
  process.on("message", async ({ id, name, argument }: { id: number; name: string; argument: never }) => {
    try {
      const command = all[name];
      if (command === undefined) throw new Error(`no such command: ${name}`);
      process.send?.({ id, result: await command(argument) });
    } catch (error) {
      process.send?.({ id, failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  process.once("disconnect", () => void last().finally(() => process.exit(0)));
  process.send?.({ ready: about });
}
