/**
 * Shows which numbered requirements the names of our tests cite, and which none does.
 *
 *     npm run requirements            a table
 *     npm run requirements -- --json  {"covered": {"SB-1": ["name", ...]}, "missing": ["SB-2", ...]}
 *
 * The numbers stand in test/requirements.json, with those that bind somebody other than a server. Exit code 1: a test
 * cites a number that does not exist.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Coverage, coverageOf, type Families } from "./requirements/citations.ts";
import { testNames } from "./requirements/test-names.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Tests, and the scenarios that they all run. */
const FILES = ["test/**/*.test.ts", "test/scenarios/table/*.ts", "test/long/**/*.ts"];

function readNames(): string[] {
  return globSync(FILES, { cwd: ROOT })
    .toSorted()
    .flatMap((file) => testNames(readFileSync(join(ROOT, file), "utf8")));
}

function printTable(families: Families, { covered, missing }: Coverage): void {
  for (const [prefix, { title, first, last, notServer }] of Object.entries(families)) {
    console.log(`\n${title}`);
    for (let number = first; number <= last; number += 1) {
      const id = `${prefix}-${number}`;
      const tests = covered[id] ?? [];
      const more = tests.length > 1 ? ` (and ${tests.length - 1} more)` : "";
      const other = notServer[String(number)];
      const shown =
        tests[0] === undefined ? (other === undefined ? "MISSING" : `- ${other}`) : tests[0] + more;
      console.log(`  ${id.padEnd(8)} ${shown}`);
    }
  }
  console.log("");
  for (const prefix of Object.keys(families)) {
    const count = (ids: readonly string[]) => ids.filter((id) => id.startsWith(`${prefix}-`)).length;
    console.log(`${prefix}: ${count(Object.keys(covered))} cited, ${count(missing)} missing`);
  }
  if (missing.length > 0) console.log(`missing: ${missing.join(" ")}`);
}

const families = JSON.parse(readFileSync(join(ROOT, "test/requirements.json"), "utf8")) as Families;
const coverage = coverageOf(families, readNames());
if (process.argv.includes("--json")) {
  const { covered, missing } = coverage;
  console.log(JSON.stringify({ covered, missing }, null, 2));
} else {
  printTable(families, coverage);
}
if (coverage.unknown.length > 0) {
  console.error(`no such requirement: ${coverage.unknown.join(" ")}`);
  process.exitCode = 1;
}
