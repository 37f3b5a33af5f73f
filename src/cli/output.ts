/** Results go to stdout and everything else to stderr, so that stdout can always be piped. */
import type { JsonValue } from "@bufbuild/protobuf";

/** Prints a result: one line of JSON, or text for people. */
export function printResult(json: boolean | undefined, value: JsonValue, text: () => string): void {
  process.stdout.write(`${json === true ? JSON.stringify(value) : text()}\n`);
}

/** Prints something that is not the result. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Columns padded to their widest cell, two spaces apart. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
