/** The clients of other languages: where they are installed, once, beside the packages of this project, and how they run. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export const INTEROP_CACHE = join(import.meta.dirname, "../../node_modules/.cache/baton-interop");

/** Longest time for an installation, in milliseconds. */
export const INSTALL_MS = 300_000;

/** Says loudly that a peer cannot be tried on this machine, and why. */
export function skipped(peer: string, error: unknown): true {
  const why = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
  console.warn(`\n*** SKIPPED: ${peer} cannot be installed here: ${why} ***\n`);
  return true;
}

/** What the programs of the peers print. */
export interface Seen {
  readonly offered: number;
  readonly send: unknown;
  readonly stream: readonly string[];
  readonly subscribe: readonly string[];
  readonly ask: unknown;
  readonly list?: readonly [number, number, boolean];
  readonly cancel: string;
  readonly get?: string;
  readonly unknown: string;
  readonly push: string;
  readonly ended: string;
}

/** Runs a program that drives a gateway and prints, as JSON, what it has seen. An error says what it wrote about itself. */
export async function seenBy<T>(program: string, args: readonly string[]): Promise<T> {
  const { stdout } = await run(program, args, { timeout: 60_000 }).catch(
    (error: Error & { stderr?: string }) => {
      throw new Error(error.stderr?.slice(-3000) || error.message);
    },
  );
  return JSON.parse(stdout) as T;
}
