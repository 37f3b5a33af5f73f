import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { EmbeddedRedisError } from "./errors.ts";

// Closing a database gives its lock back, and so would the garbage collector when nobody kept the closer.
const held = new Set<DatabaseSync>();

/**
 * Takes a folder for this process, so that two servers never write one append-only file.
 *
 * The lock is the operating system's own file lock, which ends with the process however that dies: there is
 * no stale lock to judge by process ids, which containers reuse. SQLite is the only way to one in Node.
 *
 * @returns a function that gives the folder back
 * @throws EmbeddedRedisError `folder-in-use`
 */
export function lockFolder(folder: string): () => void {
  const holderFile = join(folder, "owner.pid");
  const lock = new DatabaseSync(join(folder, "owner.lock"), { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    lock.close();
    throw new EmbeddedRedisError(
      "folder-in-use",
      `Another Baton (process ${readHolder(holderFile)}) already runs its Redis in ${folder}. Stop it, give this one another folder, or start one Redis for both and name it with BATON_REDIS_URL.`,
      { cause },
    );
  }
  writeFileSync(holderFile, `${process.pid}\n`);
  held.add(lock);
  return () => {
    if (held.delete(lock)) lock.close();
  };
}

function readHolder(holderFile: string): string {
  try {
    return readFileSync(holderFile, "utf8").trim();
  } catch {
    // The other one holds the lock and has not written its number yet.
    return "unknown";
  }
}
