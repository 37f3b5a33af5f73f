/** Parsers of option values; each throws what commander shows as a usage error. */
import { readFileSync } from "node:fs";
import type { JsonValue } from "@bufbuild/protobuf";
import { InvalidArgumentError } from "commander";

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** `90s`, `15m`, `2h`, `30d` or a bare number of seconds; answers seconds. */
export function duration(value: string): number {
  const match = /^(\d+(?:\.\d+)?)([smhd]?)$/.exec(value);
  const seconds = Number(match?.[1]) * (SECONDS[match?.[2] || "s"] ?? Number.NaN);
  if (!(seconds > 0)) throw new InvalidArgumentError("Give a time such as 90s, 15m, 2h or 30d.");
  return seconds;
}

export function wholeNumber(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < min || number > max) {
      throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
    }
    return number;
  };
}

export const port = wholeNumber(0, 65_535);

export function jsonValue(value: string): JsonValue {
  try {
    return JSON.parse(value) as JsonValue;
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : "This is not JSON.");
  }
}

/** Gathers the values of an option that may be given more than once. */
export function repeated(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

export interface NamedFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export function readableFile(path: string, before: readonly NamedFile[] | undefined): readonly NamedFile[] {
  try {
    return [...(before ?? []), { path, bytes: readFileSync(path) }];
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : "This file cannot be read.");
  }
}
