/** The results as a table for people. */
import type { Result } from "../rows/row.ts";

/** Three significant digits, and no more of a large number. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

const HEADS = ["work", "Baton", "peer", "ratio", "target", "", "spread", "also"];

export function cells(result: Result): string[] {
  const { name, value, peer, ratio, target, pass, unit, peerName, spread, also } = result;
  return [
    name,
    `${short(value)} ${unit}`,
    peer === null ? "" : `${short(peer)} ${unit} (${peerName})`,
    ratio === null ? "" : short(ratio),
    target,
    pass ? "pass" : "short",
    `${Math.round(spread * 100)} %`,
    Object.entries(also)
      .map(([key, more]) => `${key} ${typeof more === "number" ? short(more) : more}`)
      .join(", "),
  ];
}

/** Rows of as many cells as the first, in columns. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return `${rows.map(line).join("\n")}\n`;
}

export function table(results: readonly Result[]): string {
  return columns([HEADS, ...results.map(cells)]);
}

export function markdownTable(results: readonly Result[]): string {
  const line = (row: readonly string[]) => `| ${row.join(" | ")} |`;
  const heads = HEADS.map((head) => head || "result");
  return [line(heads), line(heads.map(() => "---")), ...results.map((result) => line(cells(result)))].join(
    "\n",
  );
}
