import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A start takes two seconds, and many times that where the machine has a lot else to do. */
export const START_MS = 60_000;

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
  /** Arguments of Node that run another program than the command. */
  readonly program?: readonly string[];
  /** Node itself; default: the one that runs the test. */
  readonly node?: string;
}

/** A command as a process of its own; nothing of this process's BATON_ environment reaches it. */
export function spawnCli(args: readonly string[], options: CliOptions = {}): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("BATON_"));
  return spawn(options.node ?? process.execPath, [...(options.program ?? [MAIN]), ...args], {
    cwd: options.cwd,
    env: { ...Object.fromEntries(inherited), ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

/** Runs a command to its end. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const child = spawnCli(args, options);
  child.stdin?.end(options.input ?? "");
  return resultOf(child);
}

/** What a process says, and its exit code; -1 for the signal that ended it. */
export async function resultOf(child: ChildProcess): Promise<CliResult> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, stdout, stderr };
}

/** Lines that a process has printed on standard output, and waiting for one. */
export class Lines {
  readonly all: string[] = [];
  #wake: (() => void)[] = [];
  #stderr = "";
  #closed = false;

  constructor(child: ChildProcess) {
    if (child.stdout === null) throw new Error("the process has no standard output");
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.all.push(line);
      for (const wake of this.#wake.splice(0)) wake();
    });
    child.stderr?.on("data", (chunk) => {
      this.#stderr += chunk;
    });
    child.once("close", () => {
      this.#closed = true;
    });
  }

  /** Resolves as soon as the line is there; rejects with all that was said when the process has ended, or after `ms`. */
  async find(test: (line: string) => boolean, ms = START_MS): Promise<string> {
    const end = Date.now() + ms;
    for (;;) {
      const found = this.all.find(test);
      if (found !== undefined) return found;
      if (this.#closed || Date.now() > end) {
        throw new Error(`no such line in:\n${this.all.join("\n")}\n${this.#stderr}`);
      }
      await new Promise<void>((resolve) => {
        this.#wake.push(resolve);
        setTimeout(resolve, 100);
      });
    }
  }
}

/** A gateway as a process. */
export interface ServeProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly adminUrl: string;
  readonly lines: Lines;
  /** Sends a signal and waits for the end; answers the exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** `baton serve` on a data folder; a restart gives the `ports` of the first. */
export async function startServe(
  dataDir: string,
  options: CliOptions & { readonly ports?: { readonly main: string; readonly admin: string } } = {},
): Promise<ServeProcess> {
  const { main = "0", admin = "0" } = options.ports ?? {};
  const args = ["serve", "--json", "--port", main, "--admin-port", admin, "--data-dir", dataDir];
  const child = spawnCli(args, options);
  const lines = new Lines(child);
  const line = await lines.find((text) => text.includes('"adminUrl"'), START_MS);
  const { url, adminUrl } = JSON.parse(line) as { url: string; adminUrl: string };
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  return {
    child,
    url,
    adminUrl,
    lines,
    end(signal) {
      child.kill(signal);
      return closed;
    },
  };
}

export function portsOf(serve: { readonly url: string; readonly adminUrl: string }) {
  return { main: new URL(serve.url).port, admin: new URL(serve.adminUrl).port };
}
