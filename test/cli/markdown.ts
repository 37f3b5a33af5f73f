/**
 * Runs the commands of a page. An HTML comment above a fenced block says what it is:
 * `run`, `run: background`, `run-if: <program>`, each with `, expect: <pattern>` or `, ready: <command>`; or `file: <path>`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export interface Block {
  readonly language: string;
  readonly code: string;
  /** What the comment says, by its words: `run`, `run-if`, `expect`, `ready`, `file`. */
  readonly marks: ReadonlyMap<string, string>;
}

export function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(`${ROOT}${page}`, "utf8");
  return [...text.matchAll(/(?:<!-- (.*?) -->\n)?```(\w*)\n([\s\S]*?)```/g)].map(
    ([, comment = "", language = "", code = ""]) => ({
      language,
      code,
      marks: new Map(
        comment
          .split(/, (?=expect: |ready: )/)
          .filter((mark) => mark !== "")
          .map((mark) => [mark.split(":")[0] ?? "", mark.slice(mark.indexOf(": ") + 2)]),
      ),
    }),
  );
}

export interface PageRun {
  readonly code: number | null;
  readonly output: string;
  /** Each block that says what it prints, with what it printed. */
  readonly expectations: readonly {
    readonly code: string;
    readonly pattern: RegExp;
    readonly printed: string;
  }[];
}

/** Runs the blocks of a page in one shell, in the root of the repository; everything that it started ends with it. */
export async function runPage(
  blocks: readonly Block[],
  options: {
    readonly env: Readonly<Record<string, string>>;
    readonly preamble?: string;
    /** Put in the place of the port that the page names. */
    readonly port: string;
    /** How long the page may take, in milliseconds. Default 60000. */
    readonly limitMs?: number;
  },
): Promise<PageRun> {
  const runnable = blocks.filter(({ marks }) => marks.has("run") || marks.has("run-if"));
  const script = ["set -eu", options.preamble ?? "", ...runnable.map(shellOf), "echo '@@ done'"]
    .join("\n")
    .replaceAll("7420", options.port);
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("BATON_"));
  const path = `${dirname(process.execPath)}:${process.env.PATH}`;
  const child = spawn("bash", ["-c", script], {
    cwd: ROOT,
    env: { ...Object.fromEntries(inherited), PATH: path, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const { code, output } = await finish(child, options.limitMs ?? 60_000);
  return {
    code,
    output,
    expectations: runnable.flatMap((block, index) => {
      const pattern = block.marks.get("expect");
      const printed = output.split(`@@ ${index}\n`)[1]?.split("@@ ")[0];
      if (pattern === undefined || (printed === undefined && block.marks.has("run-if"))) return [];
      return [{ code: block.code, pattern: new RegExp(pattern, "s"), printed: printed ?? "(nothing)" }];
    }),
  };
}

function shellOf(block: Block, index: number): string {
  const { marks, code } = block;
  const ready = marks.get("ready");
  if (marks.get("run") === "background") {
    const alive = `kill -0 $! 2>/dev/null || exit 1`;
    const wait = ready === undefined ? "" : `until ${ready} >/dev/null 2>&1; do ${alive}; sleep 0.2; done`;
    return `{ ${code.trim()}\n} >&2 &\n${wait}`;
  }
  const body = `echo '@@ ${index}'\n${code}`;
  const program = marks.get("run-if");
  return program === undefined ? body : `if command -v ${program} >/dev/null; then\n${body}\nfi`;
}

/** Waits for the last line and then ends the whole process group. */
async function finish(
  child: ChildProcess,
  limitMs: number,
): Promise<{ code: number | null; output: string }> {
  let output = "";
  let complaints = "";
  const ended = new Promise<number | null>((resolve) => {
    child.once("exit", resolve);
  });
  child.stdout?.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    complaints += chunk;
  });
  const timer = setTimeout(() => signalGroup(child, "SIGKILL"), limitMs);
  const code = await ended;
  clearTimeout(timer);
  signalGroup(child, "SIGTERM");
  const hard = setTimeout(() => signalGroup(child, "SIGKILL"), 5_000);
  if (child.stdout?.closed === false) await once(child.stdout, "close");
  clearTimeout(hard);
  return { code, output: code === 0 ? output : `${output}\n${complaints}` };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // All of it has ended.
  }
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("a TCP server has no port");
  return String(address.port);
}
