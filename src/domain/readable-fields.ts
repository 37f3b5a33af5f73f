/**
 * What a binary message can hold and JSON cannot. A peer that speaks protobuf could otherwise store a value that no
 * JSON client, and after some appending no protobuf client either, can ever read again: one message would poison its
 * task. The JSON transports refuse the same things while they parse; here they are refused for every transport, and for
 * what workers send (a2a.md section 7).
 */
import type { DescField, DescMessage, JsonValue, Message } from "@bufbuild/protobuf";
import type { Duration, Timestamp, Value } from "@bufbuild/protobuf/wkt";
import type { FieldViolation } from "./errors.ts";

/**
 * How deep objects and arrays may be nested inside one `google.protobuf.Value` or `Struct`. Each level of JSON is up to
 * three levels of binary messages (value, struct, map entry), protobuf parsers stop at 100, and a value stands five
 * deep in a stream event. What is deeper would be accepted once and could never be read back, by us or by a gRPC peer.
 */
export const MAX_VALUE_DEPTH = 30;

/** Enough to correct a request by. */
const MAX_VIOLATIONS = 16;

/** The span that RFC 3339 can write, and that of google/protobuf/duration.proto, in seconds. */
const TIMESTAMP = { min: -62_135_596_800n, max: 253_402_300_799n } as const;
const DURATION_MAX = 315_576_000_000n;
const NANOS_MAX = 999_999_999;

type Check = (value: unknown, path: string, found: FieldViolation[]) => void;

interface FieldPlan {
  readonly field: DescField;
  readonly check: Check;
}

const plans = new WeakMap<DescMessage, readonly FieldPlan[]>();

/** Names each field of a message that holds something with no JSON form. Paths are camelCase, with list positions. */
export function unreadableViolations(desc: DescMessage, message: Message): FieldViolation[] {
  const found: FieldViolation[] = [];
  visit(desc, message, "", found);
  return found.slice(0, MAX_VIOLATIONS);
}

function visit(desc: DescMessage, message: Message, prefix: string, found: FieldViolation[]): void {
  for (const { field, check } of planOf(desc)) {
    if (found.length >= MAX_VIOLATIONS) return;
    const value = fieldValue(message, field);
    if (value !== undefined) check(value, `${prefix}${field.jsonName}`, found);
  }
}

/** Fields of a generated message are its properties by local name, those of a oneof one property for all. */
function fieldValue(message: Message, field: DescField): unknown {
  const fields = message as Message & Readonly<Record<string, unknown>>;
  if (field.oneof === undefined) return fields[field.localName];
  const chosen = fields[field.oneof.localName] as { readonly case?: string; readonly value?: unknown };
  return chosen.case === field.localName ? chosen.value : undefined;
}

/** Only the fields that lead to a value with such a danger; most messages have none, and cost nothing. */
function planOf(desc: DescMessage): readonly FieldPlan[] {
  const known = plans.get(desc);
  if (known !== undefined) return known;
  const plan: FieldPlan[] = [];
  // Registered before it is complete: messages may contain themselves.
  plans.set(desc, plan);
  for (const field of desc.fields) {
    const check = field.message === undefined ? undefined : messageCheck(field.message);
    if (check === undefined) continue;
    plan.push({ field, check: field.fieldKind === "message" ? check : eachOf(check) });
  }
  return plan;
}

function eachOf(check: Check): Check {
  return (values, path, found) => {
    if (Array.isArray(values)) {
      for (const [index, item] of values.entries()) check(item, `${path}[${index}]`, found);
    } else {
      for (const [key, item] of Object.entries(values as object)) check(item, `${path}.${key}`, found);
    }
  };
}

function messageCheck(desc: DescMessage): Check | undefined {
  switch (desc.typeName) {
    case "google.protobuf.Value":
      return (value, path, found) => add(found, valueViolation(value as Value, path, 0));
    case "google.protobuf.Struct":
      return (value, path, found) => add(found, jsonViolation(value as JsonValue, path, 0));
    case "google.protobuf.Timestamp":
      return (value, path, found) => add(found, timestampViolation(value as Timestamp, path));
    case "google.protobuf.Duration":
      return (value, path, found) => add(found, durationViolation(value as Duration, path));
    default:
      if (desc.typeName.startsWith("google.protobuf.")) return undefined;
      return (value, path, found) => visit(desc, value as Message, `${path}.`, found);
  }
}

function add(found: FieldViolation[], violation: FieldViolation | undefined): void {
  if (violation === undefined) return;
  const field = violation.field.length <= 200 ? violation.field : `${violation.field.slice(0, 200)}...`;
  found.push({ field, description: violation.description });
}

/** A value that the runtime keeps as a message. */
function valueViolation({ kind }: Value, path: string, depth: number): FieldViolation | undefined {
  switch (kind.case) {
    case undefined:
      return { field: path, description: "must hold a value; null is one" };
    case "numberValue":
      return numberViolation(kind.value, path);
    case "listValue":
      return (
        tooDeep(path, depth) ??
        first(kind.value.values.entries(), ([index, item]) =>
          valueViolation(item, `${path}[${index}]`, depth + 1),
        )
      );
    case "structValue":
      return (
        tooDeep(path, depth) ??
        first(Object.entries(kind.value.fields), ([key, item]) =>
          valueViolation(item, `${path}.${key}`, depth + 1),
        )
      );
    default:
      return undefined;
  }
}

/** A `Struct` that is a field: the runtime keeps it as a plain object. */
function jsonViolation(value: JsonValue, path: string, depth: number): FieldViolation | undefined {
  if (typeof value === "number") return numberViolation(value, path);
  if (value === null || typeof value !== "object") return undefined;
  const deep = tooDeep(path, depth);
  if (deep !== undefined) return deep;
  return Array.isArray(value)
    ? first(value.entries(), ([index, item]) => jsonViolation(item, `${path}[${index}]`, depth + 1))
    : first(Object.entries(value), ([key, item]) => jsonViolation(item, `${path}.${key}`, depth + 1));
}

function first<T>(
  items: Iterable<T>,
  find: (item: T) => FieldViolation | undefined,
): FieldViolation | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function tooDeep(path: string, depth: number): FieldViolation | undefined {
  if (depth < MAX_VALUE_DEPTH) return undefined;
  return { field: path, description: `is nested more than ${MAX_VALUE_DEPTH} levels deep` };
}

function numberViolation(value: number, path: string): FieldViolation | undefined {
  return Number.isFinite(value) ? undefined : { field: path, description: "is out of range" };
}

function timestampViolation({ seconds, nanos }: Timestamp, path: string): FieldViolation | undefined {
  const fits = seconds >= TIMESTAMP.min && seconds <= TIMESTAMP.max && nanos >= 0 && nanos <= NANOS_MAX;
  return fits ? undefined : { field: path, description: "is out of the range of years 1 to 9999" };
}

function durationViolation({ seconds, nanos }: Duration, path: string): FieldViolation | undefined {
  const oneSign = (seconds >= 0n && nanos >= 0) || (seconds <= 0n && nanos <= 0);
  const fits = seconds >= -DURATION_MAX && seconds <= DURATION_MAX && Math.abs(nanos) <= NANOS_MAX && oneSign;
  return fits ? undefined : { field: path, description: "is no valid duration" };
}
