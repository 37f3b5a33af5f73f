/** `npm run bench`: every row of the table of targets, Baton and its peers alternately in one run. See README.md. */
import { describeMachine } from "./machine.ts";
import { readOptions } from "./options.ts";
import { profileRow } from "./profile.ts";
import { writeDocs } from "./report/docs.ts";
import { table } from "./report/table.ts";
import { ROWS } from "./rows/index.ts";
import { type Bench, failed, type Result } from "./rows/row.ts";

const options = readOptions(process.argv.slice(2));
const say = (text: string) => void process.stderr.write(`${text}\n`);
const bench: Bench = { sizes: options.sizes, say, watch: (_server, work) => work() };
const machine = describeMachine();
say(
  `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, Redis ${machine.redis}: ${machine.placement}`,
);
if (options.sizes.quick) say("--quick shows that the bench works; its figures mean nothing");

const rows = ROWS.filter(({ id }) => id.includes(options.only));
if (rows.length === 0) {
  say(`no row is called ${options.only}; there are ${ROWS.map(({ id }) => id).join(", ")}`);
  process.exit(2);
}
const results: Result[] = [];
const ofRow = new Map<string, readonly Result[]>();
for (const row of rows) {
  say(`-- ${row.id}`);
  const found = await row.run(bench).catch((error: unknown) => [failed(row.id, error)]);
  ofRow.set(row.id, found);
  results.push(...found);
}

if (options.writeDocs) {
  const profiles = new Map<string, Awaited<ReturnType<typeof profileRow>>>();
  for (const row of rows) {
    if (ofRow.get(row.id)?.every(({ pass }) => pass)) continue;
    say(`-- profile of ${row.id}`);
    profiles.set(row.id, await profileRow(row, options.sizes, say));
  }
  writeDocs({ machine, sizes: options.sizes, ofRow, profiles });
}
if (options.json) process.stdout.write(`${JSON.stringify({ rows: results }, null, 2)}\n`);
else process.stdout.write(table(results));
process.exit(results.some(({ also }) => "error" in also) ? 1 : 0);
