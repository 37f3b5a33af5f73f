/** `npm run bench`: Baton and its peer, alternately, in one run. See bench/README.md. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ROWS, type Row, type Subject } from "./load/calls.ts";
import { type Measurement, median } from "./measure.ts";

const { values: options } = parseArgs({
  options: {
    connections: { type: "string", default: "16" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "" },
    json: { type: "boolean", default: false },
  },
});

const canPin = availableParallelism() > 1 && hasTaskset();
const children: ChildProcess[] = [];

function hasTaskset(): boolean {
  try {
    execFileSync("taskset", ["-c", "0", "true"]);
    return true;
  } catch {
    return false;
  }
}

/** Starts a program of ours on a core. */
function start(core: number, file: string, args: readonly string[]): ChildProcess {
  const command = [process.execPath, fileURLToPath(new URL(file, import.meta.url)), ...args];
  const [program = "", ...rest] = canPin ? ["taskset", "-c", String(core), ...command] : command;
  const child = spawn(program, rest, { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  return child;
}

async function lines(child: ChildProcess, count: number): Promise<string[]> {
  const found: string[] = [];
  if (child.stdout === null) throw new Error("the program has no output");
  for await (const line of createInterface({ input: child.stdout })) {
    found.push(line);
    if (found.length === count) return found;
  }
  throw new Error(`the program ended early: ${found.join("\n")}`);
}

async function startBaton(): Promise<Subject> {
  const server = start(0, "./servers/baton.ts", []);
  const reader = createInterface({ input: server.stdout ?? process.stdin });
  const iterator = reader[Symbol.asyncIterator]();
  const first = JSON.parse(String((await iterator.next()).value)) as {
    url: string;
    workerCredential: string;
  };
  start(1, "./servers/echo-worker.ts", [first.url, first.workerCredential]);
  return JSON.parse(String((await iterator.next()).value)) as Subject;
}

async function startPeer(): Promise<Subject> {
  const [line = ""] = await lines(start(0, "./servers/a2a-sdk.ts", []), 1);
  return JSON.parse(line) as Subject;
}

async function load(row: Row, subject: Subject): Promise<Measurement> {
  const child = start(1, "./load/main.ts", [
    row,
    options.connections,
    options.seconds,
    JSON.stringify(subject),
  ]);
  const [line = ""] = await lines(child, 1);
  return JSON.parse(line) as Measurement;
}

const baton = await startBaton();
const peer = await startPeer();
const rows: { name: string; value: Measurement; peer: Measurement; ratio: number }[] = [];
try {
  for (const row of ROWS.filter((name) => name.includes(options.only))) {
    const ours: Measurement[] = [];
    const theirs: Measurement[] = [];
    for (let round = 0; round < Number(options.rounds); round += 1) {
      ours.push(await load(row, baton));
      theirs.push(await load(row, peer));
    }
    const value = median(ours);
    const other = median(theirs);
    rows.push({ name: row, value, peer: other, ratio: value.perSecond / other.perSecond });
  }
} finally {
  for (const child of children) child.kill("SIGTERM");
}

if (options.json) {
  process.stdout.write(`${JSON.stringify({ rows }, null, 2)}\n`);
} else {
  const cell = (text: string | number, width: number) => String(text).padStart(width);
  const show = (m: Measurement) =>
    `${cell(m.perSecond.toFixed(0), 8)}${cell(m.p50.toFixed(2), 8)}${cell(m.p99.toFixed(2), 8)}${cell(m.errors, 5)}`;
  process.stdout.write(
    `${"".padEnd(40)}${cell("Baton/s", 8)}${cell("p50", 8)}${cell("p99", 8)}${cell("err", 5)}`,
  );
  process.stdout.write(
    `${cell("sdk/s", 8)}${cell("p50", 8)}${cell("p99", 8)}${cell("err", 5)}${cell("ratio", 8)}\n`,
  );
  for (const { name, value, peer: other, ratio } of rows) {
    process.stdout.write(`${name.padEnd(40)}${show(value)}${show(other)}${cell(ratio.toFixed(2), 8)}\n`);
  }
}
