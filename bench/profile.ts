/**
 * Where the server under test spends its time while a row runs: `npm run profile -- <row>` writes a `.cpuprofile` for
 * any viewer, and prints the functions with the most time of their own.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { readOptions } from "./options.ts";
import { ROWS } from "./rows/index.ts";
import type { Bench, Row, Sizes } from "./rows/row.ts";
import { type SelfTime, selfTimes } from "./self-times.ts";

const FOLDER = "bench/profiles";
/** Functions that are printed. */
const TOP = 25;

export interface Profiled {
  readonly file: string;
  readonly top: readonly SelfTime[];
}

/** Runs the row once more with one round, and the last of its measurements under the profiler. */
export async function profileRow(row: Row, sizes: Sizes, say: (text: string) => void): Promise<Profiled> {
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${row.id}.cpuprofile`);
  const bench: Bench = {
    sizes: { ...sizes, rounds: 1 },
    say,
    async watch(server, work) {
      await server.call("profile");
      try {
        return await work();
      } finally {
        await server.call("profiled", join(process.cwd(), file));
      }
    },
  };
  await row.run(bench);
  return { file, top: selfTimes(JSON.parse(readFileSync(file, "utf8"))).slice(0, TOP) };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [id = "", ...rest] = process.argv.slice(2);
  const row = ROWS.find((candidate) => candidate.id === id);
  if (row === undefined) {
    process.stderr.write(`usage: npm run profile -- <${ROWS.map((each) => each.id).join("|")}> [options]\n`);
    process.exit(2);
  }
  const say = (text: string) => void process.stderr.write(`${text}\n`);
  const { file, top } = await profileRow(row, readOptions(rest).sizes, say);
  for (const { share, ms, name, place } of top) {
    const figures = `${(share * 100).toFixed(1).padStart(5)} % ${ms.toFixed(0).padStart(7)} ms`;
    process.stdout.write(`${figures}  ${name.padEnd(32)} ${place}\n`);
  }
  process.stdout.write(`${file}\n`);
}
