import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const definition = "proto/lf/a2a/v1/a2a.proto";

/** A repository of its own, whose first commit holds no definitions and whose second holds ours. */
let copy: string;

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "baton-breaking-"));
  git("init", "--quiet");
  writeFileSync(join(copy, ".gitignore"), "node_modules\n");
  commit("start");
  for (const part of ["proto", "buf.yaml"]) cpSync(join(root, part), join(copy, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"), "dir");
  commit("define");
});

afterEach(() => rmSync(copy, { recursive: true, force: true }));

function git(...args: string[]) {
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
  execFileSync("git", [...identity, ...args], { cwd: copy, stdio: "pipe" });
}

function commit(message: string) {
  git("add", "--all");
  git("commit", "--quiet", "--no-verify", "--allow-empty", "--message", message);
}

function edit(passage: string, by: string) {
  const before = readFileSync(join(copy, definition), "utf8");
  expect(before.split(passage), passage).toHaveLength(2);
  writeFileSync(
    join(copy, definition),
    before.replace(passage, () => by),
  );
}

function checkBreaking(base?: string) {
  const { BATON_BREAKING_BASE: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync("node", [join(root, "scripts/proto-breaking.mjs")], {
    cwd: copy,
    encoding: "utf8",
    env: base === undefined ? env : { ...env, BATON_BREAKING_BASE: base },
  });
  return { status, stdout, stderr };
}

describe("the check for breaking changes", () => {
  it.each([
    ["a removed field", "string filename = 6;", "", 'field "6" with name "filename"'],
    ["a renumbered field", "string filename = 6;", "string filename = 8;", 'field "6" with name "filename"'],
    ["a renamed field", "string filename = 6;", "string file_name = 6;", '"filename" to "file_name"'],
    ["a field of another type", "string filename = 6;", "bytes filename = 6;", '"string" to "bytes"'],
    ["a removed enum value", "TASK_STATE_REJECTED = 7;", "", 'enum value "7"'],
  ])("G11 %s fails", (_, passage, by, reason) => {
    commit("go on");
    edit(passage, by);
    const { status, stderr } = checkBreaking();
    expect(stderr).toContain("breaks what was generated from HEAD~1");
    expect(stderr).toContain(reason);
    expect(status).toBe(1);
  });

  it("an added field passes", () => {
    commit("go on");
    edit("string filename = 6;", "string filename = 6; string digest = 8;");
    expect(checkBreaking()).toEqual({
      status: 0,
      stdout: "nothing breaks what was generated from HEAD~1\n",
      stderr: "",
    });
  });

  it("G11 the last release counts, though the commit before this one broke it already", () => {
    git("tag", "v1.2.3");
    edit("string filename = 6;", "string filename = 8;");
    commit("break it");
    commit("go on");
    const { status, stdout, stderr } = checkBreaking();
    expect(stdout).toBe("nothing breaks what was generated from HEAD~1\n");
    expect(stderr).toContain("breaks what was generated from v1.2.3");
    expect(status).toBe(1);
  });

  it("G11 on the commit of a release, the release before it counts", () => {
    git("tag", "v1.2.3");
    edit("string filename = 6;", "string filename = 8;");
    commit("break it");
    commit("release");
    git("tag", "v1.2.4");
    const { status, stderr } = checkBreaking();
    expect(stderr).toContain("breaks what was generated from v1.2.3");
    expect(status).toBe(1);
  });

  it("a named base is used in place of the commit before", () => {
    commit("go on");
    edit("string filename = 6;", "string filename = 8;");
    commit("break it");
    commit("go on");
    expect(checkBreaking().status).toBe(0);
    const { status, stderr } = checkBreaking("HEAD~2");
    expect(stderr).toContain("breaks what was generated from HEAD~2");
    expect(status).toBe(1);
  });

  it("a named base that does not exist is an error", () => {
    const { status, stderr } = checkBreaking("no-such-branch");
    expect(stderr).toContain("BATON_BREAKING_BASE names no commit");
    expect(status).toBe(1);
  });

  it("a base without definitions has nothing to break", () => {
    expect(checkBreaking()).toEqual({
      status: 0,
      stdout: "nothing to compare with: HEAD~1 has no proto folder\n",
      stderr: "",
    });
  });
});
