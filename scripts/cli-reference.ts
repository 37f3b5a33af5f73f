/**
 * Writes docs/cli.md from the program itself. With `--check` it writes nothing and fails where the page is not current.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { cliReference } from "./cli-reference/page.ts";

const page = new URL("../docs/cli.md", import.meta.url);
const wanted = cliReference();
const current = () => {
  try {
    return readFileSync(page, "utf8");
  } catch {
    return "";
  }
};

if (current() === wanted) console.log("docs/cli.md is current.");
else if (process.argv.includes("--check")) {
  console.error("Not current: docs/cli.md. Run: npm run docs:cli");
  process.exitCode = 1;
} else {
  writeFileSync(page, wanted);
  console.log("Wrote docs/cli.md.");
}
