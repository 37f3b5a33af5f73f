import { WriteStream } from "node:tty";
import { create } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it, vi } from "vitest";
import { GetTaskResponseSchema } from "../../gen/baton/admin/v1/task_pb.js";
import {
  ArtifactSchema,
  MessageSchema,
  PartSchema,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { displayWidth, fitWidth, printable, printableLine } from "../../src/cli/display-width.ts";
import { factsText } from "../../src/cli/operator-text.ts";
import { printResult, table } from "../../src/cli/output.ts";
import { eventText, taskText } from "../../src/cli/task-text.ts";
import { runCli } from "./processes.ts";

/** Makes this process's standard output look like a terminal of so many columns. */
function terminal(columns: number): void {
  vi.spyOn(process, "stdout", "get").mockReturnValue(
    Object.assign(Object.create(process.stdout), {
      isTTY: true,
      columns,
      getColorDepth: WriteStream.prototype.getColorDepth,
    }),
  );
}

afterEach(() => vi.restoreAllMocks());

/** What a text looks like once it is printed. */
function shown(text: string): string {
  let written = "";
  const { stdout } = process;
  const write = vi.spyOn(stdout, "write").mockImplementation((chunk) => {
    written += String(chunk);
    return true;
  });
  printResult(false, null, () => text);
  write.mockRestore();
  return written;
}

describe("tables", () => {
  it.each([
    ["plain", 5],
    ["漢字", 4],
    ["한국", 4],
    ["ｆｕｌｌ", 8],
    ["naïve", 5],
    ["e\u0301", 1],
    ["👩‍👩‍👧", 2],
    ["✅ ok", 5],
    ["⚠️", 2],
    ["\u001b[31mred\u001b[39m", 3],
    ["a\u200bb", 2],
  ])("%j takes %i columns", (text, columns) => {
    expect(displayWidth(text)).toBe(columns);
  });

  it("align what is wide, and end lines without blanks", () => {
    expect(
      table([
        ["NAME", "SAYS"],
        ["漢字", "x"],
        ["plain", ""],
      ]),
    ).toBe("NAME   SAYS\n漢字   x\nplain");
  });

  it("cut the last column on a terminal only", () => {
    const rows = [
      ["A", "B"],
      ["1", "漢字漢字漢字漢字"],
    ];
    expect(table(rows)).toContain("漢字漢字漢字漢字");
    terminal(13);
    expect(table(rows).split("\n")[1]).toBe("1  漢字漢字…");
    expect(fitWidth("漢字漢字", 8)).toBe("漢字漢字");
  });

  it("have colours on a terminal only, and not where NO_COLOR is set", () => {
    expect(shown(table([["A"]]))).toBe("A\n");
    terminal(80);
    vi.stubEnv("NO_COLOR", "");
    vi.stubEnv("FORCE_COLOR", undefined);
    vi.stubEnv("NODE_DISABLE_COLORS", undefined);
    vi.stubEnv("CI", undefined);
    vi.stubEnv("TERM", "xterm-256color");
    expect(shown(table([["A"]]))).toBe("\u001b[1mA\u001b[22m\n");
    vi.stubEnv("NO_COLOR", "1");
    expect(shown(table([["A"]]))).toBe("A\n");
    vi.unstubAllEnvs();
  });

  it("show what strangers wrote as text: no control sequence gets through", () => {
    expect(printableLine("a\u001b[2Jb\nc\u202ed")).toBe("a\ufffd[2Jb c\ufffdd");
    expect(printable("a\u001b[8mb\u001b[22m\u001b]0;title\u0007\r\n\tc\rd")).toBe(
      "a\ufffd[8mb\ufffd[22m\ufffd]0;title\ufffd\n\tc\ufffdd",
    );
  });

  it("on a terminal nothing that strangers wrote hides, colours or forges a line; in a pipe it is as it was", () => {
    const hostile = "x\u001b[8m hidden\u001b[31m\u001b]0;t\u0007\r\nstate         completed\u202e";
    const part = create(PartSchema, {
      content: { case: "raw", value: new Uint8Array(2) },
      filename: hostile,
    });
    const text = create(PartSchema, { content: { case: "text", value: hostile } });
    const artifact = create(ArtifactSchema, { artifactId: "a", name: hostile, parts: [part, text] });
    const message = create(MessageSchema, { parts: [text] });
    const task = create(TaskSchema, {
      id: "t",
      artifacts: [artifact],
      status: { state: TaskState.WORKING, message },
    });
    const facts = create(GetTaskResponseSchema, {
      summary: { id: "t", title: hostile, agent: hostile, holder: { worker: hostile }, statusText: hostile },
      work: { case: "todo", value: { assignee: hostile, lastFailure: hostile } },
    });
    const event = create(StreamResponseSchema, { payload: { case: "task", value: task } });
    for (const shownBy of [() => taskText(task), () => eventText(event)]) {
      expect(shown(shownBy())).toContain(hostile);
    }
    terminal(80);
    vi.stubEnv("NO_COLOR", "1");
    for (const shownBy of [() => taskText(task), () => eventText(event), () => factsText(facts)]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
      expect(shown(shownBy())).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    }
    const lines = shown(factsText(facts)).split("\n");
    expect(lines.filter((line) => line.startsWith("state "))).toHaveLength(1);
    vi.unstubAllEnvs();
  });
});

describe("--output", () => {
  const secrets = {
    BATON_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
    BATON_REDIS_URL: "redis://:pa/ss@h:1",
  };

  it("json is --json, table is the default, the last one counts, others are refused", async () => {
    const run = async (...args: string[]) =>
      (await runCli(["config", "check", ...args], { cwd: import.meta.dirname })).stdout;
    const plain = await run();
    expect(plain).toBe("The configuration is good. Agents: default.\n");
    const json = await run("--json");
    expect(JSON.parse(json)).toEqual({ ok: true, agents: ["default"] });
    expect(await run("--output", "json")).toBe(json);
    expect(await run("-o", "json")).toBe(json);
    expect(await run("-o", "table")).toBe(plain);
    expect(await run("--json", "--output", "table")).toBe(plain);
    const refused = await runCli(["config", "check", "-o", "xml"]);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining("Allowed choices are json, table"),
    ]);
  });

  it("config show hides every secret in both forms", async () => {
    for (const form of ["json", "table"]) {
      const { stdout } = await runCli(["config", "show", "-o", form], {
        cwd: import.meta.dirname,
        env: secrets,
      });
      expect(stdout).not.toContain(secrets.BATON_SECRET_KEY);
      expect(stdout).not.toContain("ss@");
      expect(stdout).toContain("redis://:***@h:1");
    }
  });
});
