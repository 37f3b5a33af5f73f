import { type Fact, type Facts, fact } from "./facts.ts";

const columns = ["kind", "parent", "name", "number", "type", "label", "json_name", "oneof", "extra"] as const;

/**
 * Reads a table of facts: tab-separated, `#` starts a comment line, the header row is required.
 * The `extra` column holds `name=value` pairs and flags, separated by "; ", except for file options, where it is
 * the value itself.
 *
 * @throws Error when the header is another one or the table names no package
 */
export function readTable(text: string): Facts {
  const [header, ...lines] = text.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
  if (header !== columns.join("\t")) throw new Error(`not a table of facts: its header is "${header ?? ""}"`);
  const rows = lines.map((line) => line.split("\t"));
  const packageName = rows.find(([kind]) => kind === "package")?.[2];
  if (!packageName) throw new Error("a table of facts must name its package");
  return { package: packageName, facts: rows.map(readRow) };
}

function readRow(row: readonly string[]): Fact {
  const [kind = "", parent = "", name = "", number, type, label, jsonName, oneof, extra = ""] = row;
  return fact(kind, parent, name, {
    number,
    type,
    label,
    json_name: jsonName,
    oneof,
    ...(kind === "file_option" ? { value: extra } : readExtra(extra)),
  });
}

function readExtra(extra: string): Record<string, string> {
  const pairs = extra.split("; ").filter((item) => item !== "");
  return Object.fromEntries(
    pairs.map((item) => {
      // The pair's own name would hide the column of the same name.
      if (item === "json_name=explicit") return ["explicit_json_name", "true"];
      const at = item.indexOf("=");
      return at < 0 ? [item, "true"] : [item.slice(0, at), item.slice(at + 1)];
    }),
  );
}
