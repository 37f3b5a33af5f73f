import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The example host stands in the repository, not in the package. */
const HOST = fileURLToPath(new URL("../../../examples/openwop-host/main.ts", import.meta.url));

export interface ExampleHost {
  readonly url: Promise<string>;
  stop(): Promise<void>;
}

/** Starts the example host in a process of its own, on a free port. Throws where there is none. */
export function startExampleHost(): ExampleHost {
  if (!existsSync(HOST))
    throw new Error("the example host is part of the repository: run this from a clone of it");
  const child = spawn(process.execPath, [HOST, "0"], { stdio: ["ignore", "pipe", "inherit"] });
  return { url: firstMatch(child, /openwop host at (\S+)/), stop: () => end(child) };
}

async function firstMatch(child: ChildProcess, pattern: RegExp): Promise<string> {
  const found = Promise.withResolvers<string>();
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    const match = pattern.exec(output)?.[1];
    if (match !== undefined) found.resolve(match);
  });
  child.once("exit", (code) => found.reject(new Error(`the host ended with ${code}`)));
  return found.promise;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  await gone;
}
