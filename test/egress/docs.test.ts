import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { METADATA_ADDRESSES, METADATA_NAMES, SPECIAL_RANGES } from "../../src/egress/index.ts";

const page = new URL("../../docs/secure-egress.md", import.meta.url);

const ranges = [
  "| block | name | source | globally reachable | verdict |",
  "| --- | --- | --- | --- | --- |",
  ...SPECIAL_RANGES.map(
    (range) => `| ${[range.cidr, range.name, range.source, range.iana, range.verdict].join(" | ")} |`,
  ),
].join("\n");

const code = (items: Iterable<string>) => [...items].map((item) => `\`${item}\``).join(", ");
const metadata = `Addresses: ${code(METADATA_ADDRESSES)}.\nNames: ${code(METADATA_NAMES)}.`;

function withSection(text: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page has no section "${name}"`);
  return `${text.slice(0, from + begin.length)}\n${content}\n${text.slice(to)}`;
}

/** `UPDATE_DOCS=1` writes the sections instead of comparing them. */
describe("docs/secure-egress.md", () => {
  it("shows the table and the metadata list that the code uses", () => {
    const before = readFileSync(page, "utf8");
    const after = withSection(withSection(before, "ranges", ranges), "metadata", metadata);
    if (process.env.UPDATE_DOCS === "1") writeFileSync(page, after);
    else expect(before).toBe(after);
  });
});
