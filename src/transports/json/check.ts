import { type DescField, type DescMessage, fromJson, type JsonValue } from "@bufbuild/protobuf";
import type { FieldViolation } from "../../domain/errors.ts";
import { enumCheck, type LeafCheck, scalarCheck } from "./scalars.ts";
import { valueViolation } from "./values.ts";

/** Reports what is wrong with the JSON of one field or message. At most {@link MAX_VIOLATIONS} are kept. */
type Check = (value: JsonValue, path: string, found: FieldViolation[]) => void;

interface FieldPlan {
  readonly field: DescField;
  readonly check: Check;
  /** Null is a value of the field and not its absence. */
  readonly nullIsValue: boolean;
}

/** Enough to correct a request by; a hostile one gets no longer answer than this. */
const MAX_VIOLATIONS = 16;

const plans = new WeakMap<DescMessage, ReadonlyMap<string, FieldPlan>>();

/**
 * Compares JSON with a descriptor before it is read, and names each fault by its JSON path, as the protobuf runtime
 * does not. It also refuses what the runtime lets pass once unknown fields are ignored: unknown enum text. Unknown
 * members are skipped at every depth (A2A-5); camelCase and snake_case are one name (FR-7).
 */
export function jsonViolations(desc: DescMessage, json: JsonValue): FieldViolation[] {
  const found: FieldViolation[] = [];
  checkMessage(desc, json, "", found);
  return found;
}

function checkMessage(desc: DescMessage, json: JsonValue, path: string, found: FieldViolation[]): void {
  if (json === null || typeof json !== "object" || Array.isArray(json)) {
    add(found, path, "must be an object");
    return;
  }
  const plan = planOf(desc);
  // Most messages have neither a field of two spellings nor a oneof.
  let seen: Set<string> | undefined;
  let oneofs: Map<string, string> | undefined;
  for (const key of Object.keys(json)) {
    const entry = plan.get(key);
    if (entry === undefined) continue;
    const { field } = entry;
    const at = path === "" ? field.jsonName : `${path}.${field.jsonName}`;
    // Present by Object.keys; the index signature cannot know.
    const value = json[key] as JsonValue;
    if (field.name !== field.jsonName) {
      seen ??= new Set();
      if (seen.has(field.name)) add(found, at, "is given twice, in two spellings");
      seen.add(field.name);
    }
    if (value === null && !entry.nullIsValue) continue;
    if (field.oneof !== undefined) {
      oneofs ??= new Map();
      const other = oneofs.get(field.oneof.name);
      if (other !== undefined) add(found, at, `cannot be set together with ${other}`);
      oneofs.set(field.oneof.name, field.jsonName);
    }
    entry.check(value, at, found);
    if (found.length >= MAX_VIOLATIONS) return;
  }
}

function planOf(desc: DescMessage): ReadonlyMap<string, FieldPlan> {
  const known = plans.get(desc);
  if (known !== undefined) return known;
  const plan = new Map<string, FieldPlan>();
  plans.set(desc, plan);
  for (const field of desc.fields) {
    const nullIsValue = field.fieldKind === "message" && field.message.typeName === "google.protobuf.Value";
    const entry = { field, check: fieldCheck(field), nullIsValue };
    plan.set(field.name, entry).set(field.jsonName, entry);
  }
  return plan;
}

function fieldCheck(field: DescField): Check {
  switch (field.fieldKind) {
    case "scalar":
      return leaf(scalarCheck(field.scalar));
    case "enum":
      return leaf(enumCheck(field.enum));
    case "message":
      return messageCheck(field.message);
    case "list":
      return listCheck(itemCheck(field), isValue(field.message));
    case "map":
      return mapCheck(itemCheck(field), isValue(field.message));
  }
}

function itemCheck(field: DescField & { fieldKind: "list" | "map" }): Check {
  if (field.enum !== undefined) return leaf(enumCheck(field.enum));
  if (field.message !== undefined) return messageCheck(field.message);
  return leaf(scalarCheck(field.scalar));
}

function isValue(desc: DescMessage | undefined): boolean {
  return desc?.typeName === "google.protobuf.Value";
}

function leaf(check: LeafCheck): Check {
  return (value, path, found) => {
    const fault = check(value);
    if (fault !== undefined) add(found, path, fault);
  };
}

function messageCheck(desc: DescMessage): Check {
  switch (desc.typeName) {
    case "google.protobuf.Value":
      return (value, path, found) => addAll(found, valueViolation(value, path));
    case "google.protobuf.Struct":
      return (value, path, found) => {
        if (isObject(value)) addAll(found, valueViolation(value, path));
        else add(found, path, "must be an object");
      };
    case "google.protobuf.ListValue":
      return (value, path, found) => {
        if (Array.isArray(value)) addAll(found, valueViolation(value, path));
        else add(found, path, "must be an array");
      };
    case "google.protobuf.Timestamp":
      return leaf((value) => timestampFault(desc, value));
    case "google.protobuf.Empty":
      return (value, path, found) => checkMessage(desc, value, path, found);
    default:
      if (!desc.typeName.startsWith("google.protobuf.")) {
        return (value, path, found) => checkMessage(desc, value, path, found);
      }
      return leaf((value) => (reads(desc, value) ? undefined : `must be a ${desc.name} in its JSON form`));
  }
}

/** RFC 3339 with a zone (A2A-116, FR-3). The runtime lets 30 February become 2 March, so the day is checked here. */
function timestampFault(desc: DescMessage, value: JsonValue): string | undefined {
  const fault = "must be an RFC 3339 time with a zone, such as 2025-01-31T12:00:00.000Z";
  const match = typeof value === "string" ? /^(\d{4})-(\d{2})-(\d{2})T(\d{2})/.exec(value) : null;
  if (match === null || Number(match[4]) > 23) return fault;
  const day = new Date(0);
  day.setUTCFullYear(Number(match[1]), Number(match[2]) - 1, Number(match[3]));
  return day.getUTCDate() === Number(match[3]) && reads(desc, value) ? undefined : fault;
}

function reads(desc: DescMessage, value: JsonValue): boolean {
  try {
    fromJson(desc, value);
    return true;
  } catch {
    return false;
  }
}

function listCheck(item: Check, nullIsValue: boolean): Check {
  return (value, path, found) => {
    if (!Array.isArray(value)) {
      add(found, path, "must be an array");
      return;
    }
    for (const [index, element] of value.entries()) {
      const at = `${path}[${index}]`;
      if (element === null && !nullIsValue) add(found, at, "must not be null");
      else item(element, at, found);
      if (found.length >= MAX_VIOLATIONS) return;
    }
  };
}

function mapCheck(item: Check, nullIsValue: boolean): Check {
  return (value, path, found) => {
    if (!isObject(value)) {
      add(found, path, "must be an object");
      return;
    }
    for (const [key, element] of Object.entries(value)) {
      const at = `${path}.${key}`;
      if (!key.isWellFormed()) add(found, path, "has a name that holds half of a surrogate pair");
      else if (element === null && !nullIsValue) add(found, at, "must not be null");
      else item(element, at, found);
      if (found.length >= MAX_VIOLATIONS) return;
    }
  };
}

function isObject(value: JsonValue): value is { [key: string]: JsonValue } {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function add(found: FieldViolation[], field: string, description: string): void {
  if (found.length < MAX_VIOLATIONS) found.push({ field: shown(field), description });
}

function addAll(found: FieldViolation[], violation: FieldViolation | undefined): void {
  if (violation !== undefined) add(found, violation.field, violation.description);
}

/** A path may hold names that the client made up: kept short and printable. */
function shown(path: string): string {
  const text = path.toWellFormed();
  return text.length <= 200 ? text : `${text.slice(0, 200)}...`;
}
