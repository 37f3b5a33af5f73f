/** Writes docs/performance.md. Everything in it comes from the run; the text around it stands here. */
import { writeFileSync } from "node:fs";
import type { Machine } from "../machine.ts";
import type { Profiled } from "../profile.ts";
import type { Result, Sizes } from "../rows/row.ts";
import { markdownTable } from "./table.ts";

const FILE = new URL("../../docs/performance.md", import.meta.url);
/** Functions of each profile that the page holds. */
const TOP = 12;

export interface Report {
  readonly machine: Machine;
  readonly sizes: Sizes;
  /** Results by the id of their row. */
  readonly ofRow: ReadonlyMap<string, readonly Result[]>;
  /** Of the rows that fell short. */
  readonly profiles: ReadonlyMap<string, Profiled>;
}

export function writeDocs(report: Report): void {
  writeFileSync(FILE, performancePage(report));
}

export function performancePage({ machine, sizes, ofRow, profiles }: Report): string {
  const results = [...ofRow.values()].flat();
  const short = results.filter(({ pass }) => !pass).length;
  return `# Performance

This page is written by \`npm run bench -- --write-docs\`. Do not edit it.

What counts is the ratio of a row: both sides ran on the same machine in the same run, in turn. The absolute figures
belong to the machine and the moment. Baton is durable, on a Redis with an append-only file that is synced every second;
the peers keep everything in memory, but for BullMQ, whose jobs are in the same Redis.

| | |
| --- | --- |
| processor | ${machine.cpu}, ${machine.cores} cores |
| memory | ${machine.memoryGiB} GiB |
| Node | ${machine.node} |
| Redis | ${machine.redis} |
| placement | ${machine.placement} |
| measurement | median of ${sizes.rounds} rounds of ${sizes.seconds} s each, ${sizes.connections} calls in flight${sizes.scale === 1 ? "" : `; sizes scaled by ${sizes.scale}`} |

## Results

${results.length - short} of ${results.length} targets are met.

${markdownTable(results)}

\`spread\` is the distance between the best and the worst round of Baton, in percent of the median. \`serverBusy\` and
\`peerBusy\` tell for how much of the time each server had work: a peer that had not all the time could have done more, and
Baton that had not was held up by something else than its own core, such as Redis (\`redisCpu\`, of the second core). What each row does is told in
[bench/README.md](../bench/README.md).

## Where the time goes

${profiles.size === 0 ? "No row fell short." : "Every row that fell short was run again under the profiler. These are the functions with the most time of their own, in percent of the time that the process was not idle."}
${[...profiles].map(([id, profiled]) => profileSection(id, profiled)).join("")}
\`npm run profile -- <row>\` does the same for any row, and leaves a \`.cpuprofile\` that browsers and editors open.
`;
}

function profileSection(id: string, { top }: Profiled): string {
  const lines = top.slice(0, TOP).map(({ share, name, place }) => {
    return `| ${(share * 100).toFixed(1)} % | \`${name}\` | ${place === "" ? "" : `\`${place}\``} |`;
  });
  return `
### ${id}

| time | function | where |
| --- | --- | --- |
${lines.join("\n")}
`;
}
