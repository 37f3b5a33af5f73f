/**
 * Results go to stdout and everything else to stderr, so that stdout can always be piped. Every command that prints
 * records takes its form from here: `--output json` is one document on one line, and one line a value where values come
 * as a stream (NDJSON); `--output table`, the default, is for people.
 */
import { randomBytes } from "node:crypto";
import { styleText } from "node:util";
import type { JsonValue } from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import { displayWidth, fitWidth, printable, printableLine } from "./display-width.ts";

export interface OutputOptions {
  /** JSON was asked for, by `--output json` or `--json`. */
  readonly json?: boolean;
}

/** The options of every command that prints records. Its action finds the choice in `options.json`. */
export function withOutput(command: Command, jsonIs = "one value a line"): Command {
  return command
    .addOption(
      new Option("-o, --output <form>", `json (${jsonIs}) or table (for people; default)`).choices([
        "json",
        "table",
      ]),
    )
    .option("--json", "the same as --output json")
    .on("option:output", (form: string) => command.setOptionValue("json", form === "json"));
}

/** Prints a result: one line of JSON, or text for people. */
export function printResult(json: boolean | undefined, value: JsonValue, text: () => string): void {
  const shown = json === true ? JSON.stringify(value) : onTerminal(text());
  process.stdout.write(`${shown}\n`);
}

/** Prints something that is not the result. */
export function note(text: string): void {
  process.stderr.write(`${process.stderr.isTTY ? printable(text) : text}\n`);
}

type Style = Parameters<typeof styleText>[0];

/** Marks the colours that are ours in a text that strangers wrote into: nobody else can know it. */
const OURS = `\u001b${randomBytes(8).toString("hex")}`;
const OUR_STYLES = new RegExp(`${OURS}(\\[[\\d;]*m)`);

/** Colour for a text that goes to {@link printResult}, where standard output is a terminal and NO_COLOR does not forbid it. */
export function styled(style: Style, text: string): string {
  const [before = "", after = ""] = styleText(style, "\n", {
    stream: process.stdout,
    validateStream: true,
  }).split("\n");
  return before.replaceAll("\u001b", OURS) + text + after.replaceAll("\u001b", OURS);
}

/**
 * Columns as wide as their widest cell shows, two spaces apart; the first row is the head. On a terminal the last column
 * is cut to what fits; in a pipe or a file nothing is cut. Cells are shown on one line.
 */
export function table(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(printableLine));
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => displayWidth(row[column] ?? ""))),
  );
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  const room = process.stdout.isTTY ? Math.max(8, process.stdout.columns - before) : Number.POSITIVE_INFINITY;
  const lines = cells.map((row) =>
    row
      .map((cell, column) =>
        column === widths.length - 1
          ? fitWidth(cell, room)
          : cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - displayWidth(cell))),
      )
      .join("  ")
      .trimEnd(),
  );
  return lines.map((line, index) => (index === 0 ? styled("bold", line) : line)).join("\n");
}

/** What strangers wrote may be in it, and must neither move the cursor of whoever reads it nor hide anything. */
function onTerminal(text: string): string {
  const clean = process.stdout.isTTY ? printable : (part: string) => part;
  // Every second part is a style of ours.
  const parts = text.split(OUR_STYLES);
  return parts.map((part, index) => (index % 2 === 0 ? clean(part) : `\u001b${part}`)).join("");
}
