/**
 * Feeds every parser with a million inputs: `npm run fuzz`. Options: `--runs <n>`, `--seed <n>`, `--only <target>`.
 * A failure prints the seed and the input that caused it.
 */
import { parseArgs } from "node:util";
import { fuzz } from "./fuzz.ts";
import { TARGETS } from "./targets.ts";
import { createWorld } from "./world.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "1000000" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    only: { type: "string" },
  },
});
const world = await createWorld();
const seed = Number(values.seed);
console.log(`seed ${seed}`);
for (const target of TARGETS) {
  if (values.only !== undefined && target.name !== values.only) continue;
  const begun = performance.now();
  await fuzz(target, world, { runs: Number(values.runs), seed });
  console.log(
    `${target.name}: ${values.runs} inputs, ${Math.round((performance.now() - begun) / 1000)} s, nothing found`,
  );
}
await world.close();
