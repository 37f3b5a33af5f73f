/**
 * Writes what is generated of the chart: values.schema.json (from scripts/chart/values.ts and the program's own
 * configuration schema) and the table of values in its README. With `--check` it writes nothing and fails where one is
 * not current.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { valuesTable, withTable } from "./chart/readme.ts";
import { valuesJsonSchema } from "./chart/schema.ts";

const chart = new URL("../helm/baton/", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, chart), "utf8");

const generated: Readonly<Record<string, string>> = {
  "values.schema.json": `${JSON.stringify(valuesJsonSchema(), null, 2)}\n`,
  "README.md": withTable(read("README.md"), valuesTable(read("values.yaml"))),
};

const current = (name: string): string | undefined => {
  try {
    return read(name);
  } catch {
    return undefined;
  }
};

const stale = Object.keys(generated).filter((name) => current(name) !== generated[name]);
if (!process.argv.includes("--check")) {
  for (const name of stale) writeFileSync(new URL(name, chart), generated[name] ?? "");
  console.log(stale.length === 0 ? "The chart is current." : `Wrote ${stale.join(", ")}.`);
} else if (stale.length > 0) {
  console.error(`Not current: helm/baton/${stale.join(", helm/baton/")}. Run: npm run chart`);
  process.exitCode = 1;
}
