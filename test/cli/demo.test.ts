import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { resultOf, runCli, spawnCli } from "./processes.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-test-demo-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it("the demo shows every binding, checks each result, and leaves nothing behind", async () => {
  const { code, stdout } = await runCli(["demo"], { cwd: folder, env: { TMPDIR: folder } });
  const steps = stdout.split("\n").filter((line) => /^(ok|FAILED) /.test(line));
  expect(steps.map((line) => line.replace(/ \(\d+ ms\)$/, ""))).toEqual([
    "ok      send over gRPC",
    "ok      send over gRPC-Web",
    "ok      send over Connect",
    "ok      send over JSON-RPC",
    "ok      send over HTTP+JSON",
    "ok      stream a task as it happens",
    "ok      answer a question",
    "ok      cancel a running task",
  ]);
  expect(code).toBe(0);
  expect(await readdir(folder)).toEqual([]);
});

it("the demo as JSON has one line a step and a verdict", async () => {
  const { code, stdout } = await runCli(["demo", "--json"], { cwd: folder, env: { TMPDIR: folder } });
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toEqual({ ok: true, failed: 0 });
  expect(lines.slice(0, -1).every(({ ok }) => ok)).toBe(true);
  expect(code).toBe(0);
});

it("the demo cleans up when it is interrupted", async () => {
  const child = spawnCli(["demo"], { cwd: folder, env: { TMPDIR: folder } });
  const result = resultOf(child);
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  child.kill("SIGINT");
  expect((await result).code).toBe(130);
  expect(await readdir(folder)).toEqual([]);
});
