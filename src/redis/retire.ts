import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "./ask.ts";
import { EmbeddedRedisError } from "./errors.ts";

const LEAVE_WITHIN_MS = 5_000;

/**
 * Ends the server that a killed Baton left on a folder, if there is one, so that two servers never write
 * one append-only file. Call it with the folder locked: whoever answers on the socket then has no owner.
 *
 * Usually its supervisor is already stopping it, and this only waits. Redis closes its socket after it has
 * written everything out, so a socket that refuses is proof that the files are whole.
 *
 * @throws EmbeddedRedisError `start-failed` when it can neither be asked nor killed
 */
export async function retireStaleServer(
  socketPath: string,
  pidFile: string,
  log: (line: string) => void,
): Promise<void> {
  if (!(await answers(socketPath))) return;
  log("A Redis left over from a Baton that was killed still runs on this folder; stopping it first.");
  // The process number is good while its owner holds the socket, and Redis removes the file when it ends.
  const pid = Number(readOr(pidFile, ""));
  void ask(socketPath, "SHUTDOWN").catch(() => {});
  if (await left(socketPath)) return;
  if (pid > 1) {
    log(`It does not stop; killing process ${pid}.`);
    killHard(pid);
    if (await left(socketPath)) return;
  }
  throw new EmbeddedRedisError(
    "start-failed",
    `A Redis from an earlier run still listens on ${socketPath} and does not stop. End it by hand, then start again.`,
  );
}

/** SIGKILL. What the server has acknowledged survives it: it is in the system's hands by then. */
export function killHard(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended in between.
  }
}

async function left(socketPath: string): Promise<boolean> {
  const deadline = Date.now() + LEAVE_WITHIN_MS;
  while (Date.now() < deadline) {
    if (!(await answers(socketPath))) return true;
    await sleep(20);
  }
  return false;
}

/** Whether somebody listens, be it too busy to answer. */
async function answers(socketPath: string): Promise<boolean> {
  try {
    await ask(socketPath, "PING", 1_000);
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return code !== "ENOENT" && code !== "ECONNREFUSED";
  }
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}
