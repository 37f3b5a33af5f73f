import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { cliReference } from "../../scripts/cli-reference/page.ts";
import { leaves } from "../../src/cli/help.ts";
import { createProgram } from "../../src/cli/program.ts";
import { ROOT } from "./markdown.ts";

it("docs/cli.md is what the program says now: npm run docs:cli", () => {
  expect(readFileSync(`${ROOT}docs/cli.md`, "utf8")).toBe(cliReference());
});

it("docs/cli.md has every command", () => {
  const page = cliReference();
  for (const { path } of leaves(createProgram())) expect(page).toContain(`\n### baton ${path}\n`);
});
