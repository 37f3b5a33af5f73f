import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const repository = resolve(import.meta.dirname, "../..");
let project: string;

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "baton-layers-"));
  for (const shared of ["node_modules", "package.json"]) {
    symlinkSync(join(repository, shared), join(project, shared));
  }
});

afterEach(() => rmSync(project, { recursive: true, force: true }));

/** The rules that these files break, by the check that `npm run lint` runs. */
function broken(files: Record<string, string>): string[] {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  }
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      join(repository, "node_modules/dependency-cruiser/bin/dependency-cruise.mjs"),
      "--config",
      join(repository, ".dependency-cruiser.cjs"),
      "--output-type",
      "json",
      "src",
    ],
    { cwd: project, encoding: "utf8" },
  );
  expect(stderr).toBe("");
  const { summary } = JSON.parse(stdout) as { summary: { violations: { rule: { name: string } }[] } };
  return [...new Set(summary.violations.map(({ rule }) => rule.name))].sort();
}

const top = { "src/service/top.ts": "export const top = 1;\nexport type Top = number;\n" };

describe("the import rule", () => {
  it("allows what goes downwards", () => {
    const files = {
      "src/cli/main.ts": `import { top } from "../service/top.ts";\nexport const main = top;\n`,
      "src/domain/id.ts": `import { create } from "@bufbuild/protobuf";\nexport const make = create;\n`,
    };
    expect(broken({ ...top, ...files })).toEqual([]);
  });

  it.each([
    ["a value from above", "store", `import { top } from "../service/top.ts";\nexport const a = top;`],
    [
      "only a type from above",
      "store",
      `import type { Top } from "../service/top.ts";\nexport const a: Top = 1;`,
    ],
    ["something above when it is called", "store", `export const a = () => import("../service/top.ts");`],
    ["the server from the worker library", "worker", `export { top } from "../service/top.ts";`],
  ])("refuses %s", (_what, folder, text) => {
    expect(broken({ ...top, [`src/${folder}/a.ts`]: text })).toEqual([`layer-${folder}`]);
  });

  it.each([
    [
      "I/O in the domain",
      "domain",
      `import { connect } from "node:net";\nexport const a = connect;`,
      "domain-is-pure",
    ],
    [
      "a package in the domain",
      "domain",
      `import { z } from "zod";\nexport const a = z;`,
      "domain-few-packages",
    ],
    [
      "generated code in egress",
      "egress",
      `import { made } from "../../gen/made_pb.js";\nexport const a = made;`,
      "egress-stands-alone",
    ],
    [
      "a Redis client above the store",
      "service",
      `import { createClient } from "redis";\nexport const a = createClient;`,
      "redis-client-below-the-store",
    ],
    [
      "a development package",
      "service",
      `import fc from "fast-check";\nexport const a = fc;`,
      "no-dev-dependency",
    ],
    ["a folder without a place", "odd", `import "node:fs";`, "layer-known"],
  ])("refuses %s", (_what, folder, text, rule) => {
    const generated = { "gen/made_pb.js": "export const made = 1;\n" };
    expect(broken({ ...generated, [`src/${folder}/a.ts`]: text })).toEqual([rule]);
  });

  it("refuses a circle", () => {
    const files = {
      "src/domain/a.ts": `import { b } from "./b.ts";\nexport const a = () => b;\n`,
      "src/domain/b.ts": `import { a } from "./a.ts";\nexport const b = () => a;\n`,
    };
    expect(broken(files)).toEqual(["no-cycle"]);
  });
});
