/** Where the clients of other languages are installed, once: beside the packages of this project. */
import { join } from "node:path";

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
