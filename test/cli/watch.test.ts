/** `baton task watch` on a real terminal and off it. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { clock } from "../../src/cli/live-line.ts";
import { percentOf } from "../../src/cli/percent.ts";
import { Worker } from "../../src/worker/index.ts";
import { senderOf } from "../engine/client.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { Lines, resultOf, spawnCli } from "./processes.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
/** util-linux's: runs a command on a terminal of its own. */
const hasTerminal = spawnSync("script", ["--version"]).error === undefined;

let gateway: TestGateway;
let folder: string;
let env: Record<string, string>;
const stop = new AbortController();
let working: Promise<void>;
/** Lets the work on a task go on to its end. */
const gates = new Map<string, PromiseWithResolvers<void>>();
const gate = (name: string) => {
  const known = gates.get(name) ?? Promise.withResolvers<void>();
  gates.set(name, known);
  return known;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-watch-"));
  gateway = await startTestGateway();
  env = { BATON_URL: gateway.url, BATON_CREDENTIAL: await gateway.vend() };
  const worker = new Worker({
    url: gateway.url,
    credential: await gateway.vendWorker(),
    concurrency: 4,
    handler: async (todo) => {
      await todo.progress("reading");
      await gate(`${todo.text} begin`).promise;
      await todo.progress("half of it, 50 %");
      await gate(`${todo.text} end`).promise;
      return "all done";
    },
  });
  working = worker.run(stop.signal);
});
afterAll(async () => {
  stop.abort();
  await working;
  await gateway?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

async function send(text: string): Promise<string> {
  return (await senderOf(gateway.url, env.BATON_CREDENTIAL ?? "").send(text)).id;
}

/** The command on a terminal of 60 columns. */
async function onTerminal(
  args: string,
): Promise<{ child: ChildProcess; seen(): string; until(test: RegExp): Promise<void> }> {
  const program = join(folder, "watch.sh");
  await writeFile(program, `stty cols 60; exec "${process.execPath}" "${MAIN}" ${args}\n`);
  const child = spawn("script", ["--quiet", "--return", "--command", `sh ${program}`, "/dev/null"], {
    env: { PATH: process.env.PATH, TERM: "xterm", ...env },
    cwd: folder,
  });
  let seen = "";
  child.stdout.on("data", (chunk) => {
    seen = `${seen}${chunk}`.replaceAll("\r\u001b[2K", "<clear>");
  });
  return {
    child,
    seen: () => seen,
    async until(test) {
      const end = Date.now() + 30_000;
      while (!test.test(seen)) {
        if (Date.now() > end) throw new Error(`not seen: ${test}\n${JSON.stringify(seen)}`);
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
    },
  };
}

describe("baton task watch", () => {
  it("off a terminal prints a line for each event, and nothing that changes in place", async () => {
    const id = await send("plain");
    const watching = resultOf(spawnCli(["task", "watch", id], { cwd: folder, env }));
    gate("plain begin").resolve();
    gate("plain end").resolve();
    const { code, stdout, stderr } = await watching;
    expect(code).toBe(0);
    expect(stdout).toContain("completed");
    expect(stdout + stderr).not.toContain("\u001b");
  });

  it.skipIf(!hasTerminal)("on a terminal shows state, time, progress and percent in one line", async () => {
    const id = await send("live");
    const terminal = await onTerminal(`task watch ${id}`);
    await terminal.until(/working {2}0:\d\d {2}reading/);
    gate("live begin").resolve();
    await terminal.until(/<clear>working {2}0:\d\d \[#####\.\.\.\.\.\] 50 % {2}half of it, 50 %/);
    gate("live end").resolve();
    const ended = new Promise((resolve) => terminal.child.once("close", resolve));
    expect(await ended).toBe(0);
    expect(terminal.seen()).toContain("all done");
    // The line is taken away at the end, and no progress is left as a line of its own.
    expect(terminal.seen()).not.toMatch(/half of it, 50 %\r?\n/);
    expect(terminal.seen()).toMatch(/<clear>[^<]*completed/);
  });

  it.skipIf(!hasTerminal)("Ctrl-C leaves the task alone and says how to find it again", async () => {
    const id = await send("interrupted");
    const terminal = await onTerminal(`task watch ${id}`);
    await terminal.until(/working {2}0:/);
    const ended = new Promise((resolve) => terminal.child.once("close", resolve));
    terminal.child.stdin?.write("\u0003");
    expect(await ended).toBe(130);
    expect(terminal.seen()).toContain(`The task goes on. Watch it again: baton task watch ${id}`);
    gate("interrupted begin").resolve();
    gate("interrupted end").resolve();
    const again = await resultOf(spawnCli(["task", "watch", id], { cwd: folder, env }));
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("completed")]);
  });

  it("SIGINT off a terminal does the same, with JSON too", async () => {
    const id = await send("signalled");
    const child = spawnCli(["task", "watch", id, "--json"], { cwd: folder, env });
    const lines = new Lines(child);
    let said = "";
    child.stderr?.on("data", (chunk) => {
      said += chunk;
    });
    await lines.find((line) => line.includes(id));
    const ended = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect(said).toContain(`baton task watch ${id}`);
    for (const line of lines.all) expect(() => JSON.parse(line)).not.toThrow();
    gate("signalled begin").resolve();
    gate("signalled end").resolve();
  });
});

describe("progress", () => {
  const text = (value: string) => create(MessageSchema, { parts: [{ content: { case: "text", value } }] });

  it.each([
    [text("40 % of the files"), 40],
    [text("99.5% done"), 99.5],
    [text("done 120 %"), undefined],
    [text("v1.100%"), undefined],
    [text("no number"), undefined],
    [create(MessageSchema, { metadata: { percent: 12 }, parts: [] }), 12],
    [
      create(MessageSchema, {
        parts: [
          {
            content: {
              case: "data",
              value: {
                kind: {
                  case: "structValue",
                  value: { fields: { percent: { kind: { case: "numberValue", value: 7 } } } },
                },
              },
            },
          },
        ],
      }),
      7,
    ],
    [undefined, undefined],
  ])("case %#: the percentage is where the message says it", (message, percent) => {
    expect(percentOf(message)).toBe(percent);
  });

  it.each([
    [0, "0:00"],
    [67_900, "1:07"],
    [3_723_000, "1:02:03"],
  ])("%i ms are %s", (ms, shown) => {
    expect(clock(ms)).toBe(shown);
  });
});
