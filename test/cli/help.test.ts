import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXAMPLES } from "../../src/cli/examples.ts";
import { leaves, variablesOf } from "../../src/cli/help.ts";
import { createProgram } from "../../src/cli/program.ts";
import { runCli } from "./processes.ts";

const before = process.cwd();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-help-"));
  await writeFile(join(folder, "notes.txt"), "notes");
  // Examples name files by their bare names.
  process.chdir(folder);
});
afterAll(async () => {
  process.chdir(before);
  await rm(folder, { recursive: true, force: true });
});

const COMMANDS = leaves(createProgram());

function all(command: Command): Command[] {
  return [command, ...command.commands.flatMap(all)];
}

/** Words of a command line, with double quotes. */
function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare = ""]) => quoted ?? bare);
}

describe("help", () => {
  it("says what each command, argument and option is", () => {
    for (const command of all(createProgram())) {
      expect(command.description(), command.name()).toMatch(/^[A-Z].*\.$/s);
      for (const option of command.options) {
        expect(option.description, `${command.name()} ${option.flags}`).not.toBe("");
      }
      for (const argument of command.registeredArguments) {
        expect(argument.description, `${command.name()} ${argument.name()}`).not.toBe("");
      }
    }
  });

  it.each(COMMANDS)("$path has examples that parse", async ({ path }) => {
    const examples = EXAMPLES[path] ?? [];
    expect(examples.length, `src/cli/examples.ts has none for ${path}`).toBeGreaterThan(0);
    for (const [line, what] of examples) {
      const program = createProgram();
      let ran = "";
      for (const leaf of leaves(program)) {
        leaf.command.action(() => {
          ran = leaf.path;
        });
      }
      const [name, ...args] = words(line);
      expect(name).toBe("baton");
      await program.parseAsync(args, { from: "user" });
      expect(ran).toBe(path);
      expect(what).not.toBe("");
    }
  });

  it("has no example of a command that is gone", () => {
    const paths = COMMANDS.map(({ path }) => path);
    expect(Object.keys(EXAMPLES).filter((path) => !paths.includes(path))).toEqual([]);
  });

  it("names the variables that a command reads", () => {
    const of = (path: string) => {
      const found = COMMANDS.find((each) => each.path === path);
      return found === undefined ? [] : variablesOf(path, found.command).map(([name]) => name);
    };
    expect(of("task get")).toEqual(["BATON_URL", "BATON_CREDENTIAL"]);
    expect(of("endpoint list")).toEqual([
      "BATON_CONFIG",
      "BATON_ADMIN_URL",
      "BATON_ADMIN_TOKEN",
      "BATON_ADMIN_PORT",
      "BATON_DATA_DIR",
    ]);
    expect(of("serve")).toEqual(
      expect.arrayContaining(["BATON_CONFIG", "BATON_REDIS_URL", "BATON_REDIS_SERVER"]),
    );
  });

  it("is printed by --help and by help, for commands in commands too", async () => {
    const asked = await runCli(["help", "task", "watch"], { cwd: folder });
    expect([asked.code, asked.stderr]).toEqual([0, ""]);
    expect(asked.stdout).toContain("Usage: baton task watch [options] <id>");
    expect(asked.stdout).toContain("Examples:\n  baton task watch td_1\n");
    expect(asked.stdout).toMatch(/Environment:\n {2}BATON_URL +address of the gateway/);
    expect(asked.stdout).toContain("Exit codes: 0 done; 1 what was asked for failed;");
    expect((await runCli(["task", "watch", "--help"], { cwd: folder })).stdout).toBe(asked.stdout);
    const unknown = await runCli(["help", "task", "wach"], { cwd: folder });
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringMatching(/no command task wach.*\n.*get, list, watch/),
    ]);
  });
});
