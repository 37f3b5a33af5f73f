import type { JsonValue } from "@bufbuild/protobuf";
import type { FieldViolation } from "../../domain/errors.ts";
import { MAX_VALUE_DEPTH } from "../../domain/readable-fields.ts";
import { stringFault } from "./scalars.ts";

/**
 * Finds what a free-form JSON value cannot hold: numbers that are not finite (`1e400` overflows when it is parsed, and
 * the message could never be printed again), halves of surrogate pairs, too much depth. Null is a value (FR-1).
 */
export function valueViolation(value: JsonValue, path: string, depth = 0): FieldViolation | undefined {
  if (typeof value === "number") {
    return Number.isFinite(value) ? undefined : { field: path, description: "is out of range" };
  }
  if (typeof value === "string") {
    const fault = stringFault(value);
    return fault === undefined ? undefined : { field: path, description: fault };
  }
  if (value === null || typeof value !== "object") return undefined;
  if (depth >= MAX_VALUE_DEPTH) {
    return { field: path, description: `is nested more than ${MAX_VALUE_DEPTH} levels deep` };
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const found = valueViolation(item, `${path}[${index}]`, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  for (const [key, item] of Object.entries(value)) {
    const fault = stringFault(key);
    if (fault !== undefined) return { field: path, description: `has a name that ${fault}` };
    const found = valueViolation(item, `${path}.${key}`, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
