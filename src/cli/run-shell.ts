import { isUtf8 } from "node:buffer";
import { spawn } from "node:child_process";

/** Most that is kept of what a command says, in bytes. The gateway refuses larger requests than 256 KiB by default. */
const MAX_OUTPUT = 16 * 1024 * 1024;
const STDERR_TAIL = 1024;
/** From SIGTERM to SIGKILL, in milliseconds. */
const KILL_AFTER_MS = 5_000;

export interface ShellRun {
  readonly command: string;
  readonly input: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Ends the command and everything that it started. */
  readonly signal: AbortSignal;
  /** Told of what the command says on standard error. */
  onStderr(chunk: Buffer): void;
}

/** Runs a shell command; answers its standard output, as text where it is text. Rejects on a non-zero exit code. */
export async function runShell(run: ShellRun): Promise<string | Uint8Array> {
  run.signal.throwIfAborted();
  const child = spawn("/bin/sh", ["-c", run.command], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...run.environment },
    // A process group of its own, so that all of it can be ended.
    detached: true,
  });
  const kill = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // It has ended meanwhile.
    }
  };
  let killer: NodeJS.Timeout | undefined;
  const abort = () => {
    kill("SIGTERM");
    killer = setTimeout(() => kill("SIGKILL"), KILL_AFTER_MS);
  };
  run.signal.addEventListener("abort", abort, { once: true });

  const chunks: Buffer[] = [];
  let size = 0;
  let tail = "";
  child.stdout.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_OUTPUT) chunks.push(chunk);
    else kill("SIGTERM");
  });
  child.stderr.on("data", (chunk: Buffer) => {
    tail = (tail + chunk.toString("utf8")).slice(-STDERR_TAIL);
    run.onStderr(chunk);
  });
  // A command need not read what it is given.
  child.stdin.on("error", () => {});
  child.stdin.end(run.input);

  try {
    const how = await new Promise<string>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve(signal ?? String(code)));
    });
    run.signal.throwIfAborted();
    if (size > MAX_OUTPUT) throw new Error(`the command printed more than ${MAX_OUTPUT} bytes`);
    if (how !== "0") throw new Error(`the command ended with ${how}${tail === "" ? "" : `: ${tail.trim()}`}`);
    const output = Buffer.concat(chunks);
    return isUtf8(output) ? output.toString("utf8") : output;
  } finally {
    clearTimeout(killer);
    run.signal.removeEventListener("abort", abort);
  }
}
