import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const DECLARED = /^export (?:async )?(?:abstract )?(?:const|function\*?|class|interface|type) (\w+)/gm;

function wordsOf(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [word] of text.matchAll(/\w+/g)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

it("everything that src exports is named somewhere else than where it is declared", () => {
  const files = globSync(["src/**/*.{ts,tsx}", "test/**/*.ts", "bench/**/*.ts", "scripts/**/*.ts"], {
    cwd: root,
  })
    .filter((file) => !file.includes("node_modules") && !file.endsWith("dead-exports.test.ts"))
    .map((file) => ({ file, text: readFileSync(`${root}/${file}`, "utf8") }));
  const uses = new Map<string, number>();
  for (const { text } of files) {
    for (const [word, count] of wordsOf(text)) uses.set(word, (uses.get(word) ?? 0) + count);
  }
  const exported = files
    .filter(({ file }) => file.startsWith("src/"))
    .flatMap(({ file, text }) => [...text.matchAll(DECLARED)].map(([, name = ""]) => ({ file, name })));
  expect(exported.length).toBeGreaterThan(500);
  expect(exported.filter(({ name }) => uses.get(name) === 1)).toEqual([]);
});
