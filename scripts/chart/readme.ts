import { isMap, isScalar, type Pair, parseDocument } from "yaml";

interface Row {
  readonly key: string;
  readonly fallback: string;
  readonly text: string;
}

/** The table of values for README.md, from the `# --` comments of values.yaml. */
export function valuesTable(valuesYaml: string): string {
  const document = parseDocument(valuesYaml);
  const { contents } = document;
  if (!isMap(contents)) throw new Error("values.yaml is not a mapping");
  const rows: Row[] = [];
  const undocumented: string[] = [];
  const walk = (pairs: readonly Pair[], prefix: string, first?: string): void => {
    for (const [index, { key, value }] of pairs.entries()) {
      if (!isScalar(key)) throw new Error("a key of values.yaml is not a word");
      const path = `${prefix}${String(key.value)}`;
      // The comment before the first key of a mapping belongs to the mapping, for the parser.
      const comment = key.commentBefore ?? (index === 0 ? first : undefined) ?? "";
      const text = /(?:^|\n) -- ([\s\S]*)$/.exec(comment)?.[1]?.replace(/\n ?/g, " ");
      if (text !== undefined)
        rows.push({ key: path, fallback: JSON.stringify(document.getIn(path.split(".")) ?? null), text });
      else if (isMap(value) && value.items.length > 0)
        walk(value.items, `${path}.`, value.commentBefore ?? undefined);
      else undocumented.push(path);
    }
  };
  walk(contents.items, "", contents.commentBefore ?? document.commentBefore ?? undefined);
  if (undocumented.length > 0) throw new Error(`values.yaml says nothing of ${undocumented.join(", ")}`);
  const cell = (words: string) => words.replace(/\|/g, "\\|");
  return [
    "| value | default | |",
    "| --- | --- | --- |",
    ...rows.map(({ key, fallback, text }) => `| \`${key}\` | \`${cell(fallback)}\` | ${cell(text)} |`),
  ].join("\n");
}

const BEGIN = "<!-- values: made by `npm run chart` -->";
const END = "<!-- /values -->";

/** README.md with the table in its place. */
export function withTable(readme: string, table: string): string {
  const [before, rest] = readme.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error(`README.md has no place for the table: ${BEGIN} … ${END}`);
  return `${before}${BEGIN}\n${table}\n${END}${after}`;
}
