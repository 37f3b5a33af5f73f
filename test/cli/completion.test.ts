/** The completion scripts in the shells that they are for; zsh and fish where this machine has them. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { completionScript, SHELLS, type Shell } from "../../src/cli/completion.ts";
import { leaves } from "../../src/cli/help.ts";
import { createProgram } from "../../src/cli/program.ts";
import { runCli } from "./processes.ts";

const folder = mkdtempSync(join(tmpdir(), "baton-completion-"));
writeFileSync(join(folder, "some-file.yaml"), "");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

for (const shell of SHELLS) writeFileSync(join(folder, shell), completionScript(shell, createProgram()));

function run(shell: Shell, script: string): string {
  // Without start-up files, in a folder with one file.
  const args = { bash: ["--norc", "--noprofile"], zsh: ["-f"], fish: ["--no-config"] }[shell];
  const made = spawnSync(shell, [...args, "-c", script], {
    cwd: folder,
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: folder, TERM: "dumb" },
    timeout: 30_000,
  });
  expect(made.stderr).toBe("");
  return made.stdout;
}

/** What a shell offers after a line, in no order. */
const OFFERS: Readonly<Record<Shell, (line: string) => string[]>> = {
  bash(line) {
    const words = line.split(" ").map((word) => `'${word}'`);
    const script = `source ./bash; COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _baton; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return lines(run("bash", script));
  },
  zsh(line) {
    // Its completion works in its line editor only; these stand for the two builtins that offer words.
    const words = line.split(" ").map((word) => `'${word}'`);
    const script = `
      compdef() { }
      _message() { }
      _files() { print -rl -- *(N) }
      compadd() { shift; print -rl -- "$@" }
      _describe() {
        local name=\${@[-1]}; local -a offered=("\${(@P)name}")
        print -rl -- \${offered%%:*}
      }
      source ./zsh
      words=(${words.join(" ")}); CURRENT=${words.length}
      _baton`;
    return lines(run("zsh", script)).filter((word) => word.startsWith(line.split(" ").at(-1) ?? ""));
  },
  fish(line) {
    return lines(run("fish", `source ./fish; complete -C '${line}'`)).map(
      (each) => each.split("\t")[0] ?? "",
    );
  },
};

function lines(text: string): string[] {
  return text.split("\n").filter((each) => each !== "");
}

const has = (shell: Shell) => spawnSync(shell, ["--version"]).error === undefined;

describe.each(SHELLS)("completion in %s", (shell) => {
  it.skipIf(!has(shell))("offers commands, options and choices", () => {
    const offers = OFFERS[shell];
    const top = offers("baton ");
    for (const { path } of leaves(createProgram())) expect(top).toContain(path.split(" ")[0]);
    expect(offers("baton ta")).toEqual(["task"]);
    expect(offers("baton task ").toSorted()).toEqual(
      expect.arrayContaining(["cancel", "get", "list", "watch"]),
    );
    expect(offers("baton task li")).toEqual(["list"]);
    expect(offers("baton task list --st")).toEqual(["--state"]);
    expect(offers("baton help task wa")).toEqual(["watch"]);
    expect(offers("baton endpoint create --name x --sub")).toEqual(["--submit"]);
    expect(offers("baton task list --output ").toSorted()).toEqual(["json", "table"]);
    expect(offers("baton task list -o j")).toEqual(["json"]);
    expect(offers("baton completion ").toSorted()).toEqual(["bash", "fish", "zsh"]);
    expect(offers("baton serve --config some")).toEqual(["some-file.yaml"]);
    expect(offers("baton task list --page-token ")).toEqual([]);
  });
});

it("is printed by the command, and other shells are refused", async () => {
  const { stdout } = await runCli(["completion", "bash"]);
  expect(stdout).toBe(completionScript("bash", createProgram()));
  const refused = await runCli(["completion", "csh"]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("bash, zsh, fish")]);
});
