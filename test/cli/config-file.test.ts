/** A configuration file may be anything that has a name: what it is is told, within seconds, and nothing of it is quoted. */
import { execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../src/config/load.ts";
import { runCli } from "./processes.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-config-"));
  execFileSync("mkfifo", [join(folder, "silent"), join(folder, "pipe")]);
  await mkdir(join(folder, "folder"));
  await writeFile(join(folder, "huge"), Buffer.alloc(5_000_000, "a: 1\n"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function problems(text: string | Buffer): Promise<readonly string[]> {
  const path = join(folder, "baton.yaml");
  await writeFile(path, text);
  return readConfig(path, {}).problems;
}

describe("a configuration file", () => {
  it.each([
    ["silent", /a pipe into which nobody writes/],
    ["folder", /EISDIR/],
    ["huge", /larger than \d+ bytes/],
    ["/dev/zero", /larger than \d+ bytes/],
    ["missing", /ENOENT/],
  ])(
    "that is %s is told of by doctor, serve and config check, and holds none of them up",
    async (name, why) => {
      const env = { BATON_CONFIG: name.startsWith("/") ? name : join(folder, name) };
      const [doctor, serve, check] = await Promise.all([
        runCli(["doctor"], { cwd: folder, env }),
        runCli(["serve"], { cwd: folder, env }),
        runCli(["config", "check"], { cwd: folder, env }),
      ]);
      expect(doctor.code).toBe(1);
      expect(doctor.stdout).toMatch(why);
      expect([serve.code, check.code]).toEqual([2, 2]);
      expect(serve.stderr).toMatch(why);
      expect(check.stderr).toMatch(why);
    },
  );

  it("may be a pipe into which somebody writes, however late within reason, and so may the file of a variable", async () => {
    const path = join(folder, "pipe");
    const write = (text: string) =>
      spawn(process.execPath, [
        "-e",
        `setTimeout(() => fs.writeFileSync(${JSON.stringify(path)}, ${JSON.stringify(text)}), 300)`,
      ]);
    write("publicUrl: https://baton.example\n");
    expect(readConfig(path, {}).config?.publicUrl).toBe("https://baton.example");
    write("a-token-from-a-pipe\n");
    const { config } = readConfig(join(folder, "empty.yaml"), {});
    expect(config).toBeUndefined();
    await writeFile(join(folder, "empty.yaml"), "");
    const read = readConfig(join(folder, "empty.yaml"), { BATON_ADMIN_TOKEN_FILE: path });
    expect(read.config?.admin.token).toBe("a-token-from-a-pipe");
  });

  it("whose aliases hold themselves is refused, and those that say a thing twice are not", async () => {
    for (const text of ["agents: &a {x: *a}", "a: &a [1, *a]", "a: &a {b: {c: [{d: *a}]}}"]) {
      expect(await problems(text), text).toEqual([
        expect.stringMatching(/an alias stands inside its own anchor/),
      ]);
    }
    const twice = "agents: {one: &q {queues: [a]}, two: *q}\ndefaultAgent: one\n";
    expect(await problems(twice)).toEqual([]);
  });

  it("SB-56 that is no YAML is told of without its words, which may be a secret", async () => {
    const broken = [
      "token: *hunter2",
      "token: !hunter2",
      "token: !hunter2! x",
      "token: !!hunter2 x",
      "token: !<hunter2 x",
      'token: "abc" hunter2',
      'token: "hunter2 \\q"',
      'token: {"hunter2',
      "token: |hunter2\n x",
      "token: hunter2: x",
      "token: }hunter2",
      "%hunter2 x\n---\na: 1",
      "hunter2: 1\nhunter2: 2",
      "a: 1\n---\ntoken: hunter2",
      "? hunter2\n- x",
      "token: @hunter2",
      "token: `hunter2",
    ];
    for (const text of broken) {
      const told = await problems(`admin:\n  ${text.replaceAll("\n", "\n  ")}\n`);
      const alone = await problems(text);
      expect([...told, ...alone].join("\n"), text).not.toContain("hunter2\n");
      for (const line of [...told, ...alone]) {
        if (line.startsWith("not YAML")) expect(line, text).not.toContain("hunter2");
      }
      expect(told.length + alone.length, text).toBeGreaterThan(0);
    }
  });
});
