import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder with those above it, and answers its whole path. Throws what the operating system says.
 *
 * Level by level: Node's own recursive mkdir tries for ever where a folder that exists takes no new one and says ENOENT,
 * as /proc does.
 *
 * @param mode of the folders that are made
 */
export function makeFolder(dir: string, mode = 0o777): string {
  const whole = resolve(dir);
  const missing: string[] = [];
  for (let at = whole; !exists(at); at = dirname(at)) missing.unshift(at);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode });
    } catch (error) {
      // Of two first starts, one makes it.
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
  if (!statSync(whole).isDirectory()) throw new Error(`${whole} is not a folder`);
  return whole;
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
