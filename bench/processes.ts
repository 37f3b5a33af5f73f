/** Programs of the bench in processes of their own, each on its core. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import type { Usable, Used } from "./rows/use.ts";

/** `server`: what is measured. `load`: who asks, Redis, and every helper. */
export type Core = "server" | "load";

const CORES: Record<Core, string> = { server: "0", load: "1" };

/** Whether servers and load can be kept apart. */
export const canPin = availableParallelism() > 1 && hasTaskset();

function hasTaskset(): boolean {
  try {
    execFileSync("taskset", ["-c", "0", "true"]);
    return true;
  } catch {
    return false;
  }
}

/** Moves a running process with all its threads to a core. */
export function pin(pid: number, core: Core): void {
  if (canPin) execFileSync("taskset", ["-a", "-c", "-p", CORES[core], String(pid)], { stdio: "ignore" });
}

/** A running program; see program.ts for its side. */
export class Program implements Usable {
  /** What it said about itself when it was ready. */
  about: unknown;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Starts `file` (relative to this folder) with one argument that it gets as JSON. */
  static async start(core: Core, file: string, argument: unknown = {}): Promise<Program> {
    const path = fileURLToPath(new URL(file, import.meta.url));
    const command = [process.execPath, path, JSON.stringify(argument)];
    const [name = "", ...rest] = canPin ? ["taskset", "-c", CORES[core], ...command] : command;
    const child = spawn(name, rest, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    const program = new Program(child);
    const started = Promise.withResolvers<unknown>();
    child.on("message", (message: { ready?: unknown; id?: number; result?: unknown; failed?: string }) => {
      if ("ready" in message) started.resolve(message.ready);
      else program.#answer(message);
    });
    const gone = (): void => {
      const error = new Error(`${file} ended`);
      started.reject(error);
      for (const { reject } of program.#waiting.values()) reject(error);
      program.#waiting.clear();
    };
    child.once("exit", gone);
    child.once("error", gone);
    program.about = await started.promise;
    return program;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  call<T = unknown>(name: string, argument?: unknown): Promise<T> {
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    this.#child.send({ id, name, argument });
    return waiting.promise as Promise<T>;
  }

  used(): Promise<Used> {
    return this.call("used");
  }

  /** Ends the program and waits for its end. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }

  #answer({ id, result, failed }: { id?: number; result?: unknown; failed?: string }): void {
    const waiting = this.#waiting.get(id ?? 0);
    this.#waiting.delete(id ?? 0);
    if (failed === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(failed));
  }
}
