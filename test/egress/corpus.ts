import { readFileSync } from "node:fs";
import type { DecisionArm, DecisionReason } from "../../src/egress/index.ts";

export interface CorpusRow {
  readonly url: string;
  /** undefined: DNS must not be asked. */
  readonly answers: readonly string[] | undefined;
  readonly allowed: boolean;
  readonly arm: DecisionArm;
  readonly reason: DecisionReason;
  readonly range: string | undefined;
  /** Requirement numbers and the idea. */
  readonly why: string;
}

const ESCAPES: Readonly<Record<string, string>> = { t: "\t", r: "\r", n: "\n", "0": "\0", "\\": "\\" };

/** @param port what `{port}` in a URL becomes */
export function readCorpus(port: number): readonly CorpusRow[] {
  const text = readFileSync(new URL("./corpus.tsv", import.meta.url), "utf8");
  const rows = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return rows.slice(1).map((line) => {
    const [url = "", answers = "", outcome = "", why = ""] = line.split("\t");
    const [verdict, arm, reason, range] = outcome.split(" ");
    return {
      url: unescapeUrl(url).replace("{port}", String(port)),
      answers: answers === "-" ? undefined : answers.split(","),
      allowed: verdict === "allow",
      arm: arm as DecisionArm,
      reason: reason as DecisionReason,
      range: range === "-" ? undefined : range,
      why,
    };
  });
}

function unescapeUrl(text: string): string {
  return text.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex: string | undefined, letter: string) =>
    hex === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
