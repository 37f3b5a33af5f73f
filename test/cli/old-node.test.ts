import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./markdown.ts";

/** Runs the published entry as a Node of another version would see itself. */
function runAs(version: string) {
  const disguise = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`;
  const options = ["--import", `data:text/javascript,${encodeURIComponent(disguise)}`];
  const run = spawnSync(process.execPath, [...options, join(ROOT, "src/cli/baton.ts"), "--version"]);
  return { code: run.status, stdout: String(run.stdout), stderr: String(run.stderr) };
}

describe("baton on a Node that is too old", () => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    engines: { node: string };
  };

  it.each(["18.20.0", "20.20.2", "22.18.0"])("%s: says which one it needs, and loads nothing", (version) => {
    const run = runAs(version);
    expect(run).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toContain(version);
    expect(run.stderr).toContain(engines.node.replace(">=", ""));
  });

  it.each(["22.19.0", "24.0.0"])("%s: runs", (version) => {
    expect(runAs(version)).toMatchObject({ code: 0, stderr: "" });
  });
});
