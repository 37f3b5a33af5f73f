import {
  type DescEnum,
  type DescField,
  type DescMessage,
  getOption,
  type JsonObject,
  type JsonValue,
  type Message,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { FeatureSet_FieldPresence, isWrapperDesc, type Timestamp } from "@bufbuild/protobuf/wkt";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.js";
import { textOf } from "../../domain/encoded.ts";
import { PLAIN, type PrintOptions } from "./print-options.ts";
import { plainJson, valueJson } from "./print-value.ts";

type Write = (value: unknown, options: PrintOptions) => JsonValue;
type WriteField = (message: Record<string, unknown>, json: JsonObject, options: PrintOptions) => void;

const writers = new WeakMap<DescMessage, Write>();

/**
 * Prints a message as ProtoJSON in the manner of A2A: camelCase, enums by name, no defaults; except that fields
 * annotated REQUIRED are there even when empty (A2A-3, A2A-62), and that times have at least three fraction digits
 * (A2A-115). Nothing but fields of the schema is printed (A2A-122).
 */
export function printMessage(desc: DescMessage, message: Message, options: PrintOptions = PLAIN): JsonValue {
  return desc.typeName === "google.protobuf.Struct" ? valueJson(message) : writerOf(desc)(message, options);
}

/** The same as text. A task from the store is printed once for all who read it. */
export function printText(desc: DescMessage, message: Message, options: PrintOptions = PLAIN): string {
  if (options !== PLAIN) return JSON.stringify(printMessage(desc, message, options));
  return textOf(message, (plain) => JSON.stringify(printMessage(desc, plain)));
}

function writerOf(desc: DescMessage): Write {
  const known = writers.get(desc);
  if (known !== undefined) return known;
  const special = wellKnown(desc);
  if (special !== undefined) {
    writers.set(desc, special);
    return special;
  }
  const fields: WriteField[] = [];
  const write: Write = (value, options) => {
    const json: JsonObject = {};
    for (const writeField of fields) writeField(value as Record<string, unknown>, json, options);
    return json;
  };
  // Registered before its fields are compiled: messages may contain themselves.
  writers.set(desc, write);
  for (const field of desc.fields.toSorted((a, b) => a.number - b.number)) fields.push(compileField(field));
  return write;
}

function wellKnown(desc: DescMessage): Write | undefined {
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return (value) =>
        timestampJson(value as Timestamp) ?? withMillis(String(toJson(desc, value as Message)));
    case "google.protobuf.Value":
    case "google.protobuf.ListValue":
      return (value) => valueJson(value as Message);
    case "google.protobuf.Struct":
      return (value) => plainJson(value as JsonValue);
    case "google.protobuf.Empty":
      return () => ({});
    default:
      return desc.typeName.startsWith("google.protobuf.")
        ? (value) => toJson(desc, value as Message)
        : undefined;
  }
}

/** The usual case; undefined leaves ranges and fractions of a millisecond to the runtime. */
function timestampJson({ seconds, nanos }: Timestamp): string | undefined {
  const millis = nanos / 1_000_000;
  if (seconds < 0n || seconds > MAX_SECONDS || !Number.isInteger(millis) || millis < 0) return undefined;
  return new Date(Number(seconds) * 1000 + millis).toISOString();
}

/** The end of the year 9999, the last that RFC 3339 can write. */
const MAX_SECONDS = 253_402_300_799n;

function withMillis(text: string): string {
  return text.includes(".") ? text : text.replace("Z", ".000Z");
}

function compileField(field: DescField): WriteField {
  const { jsonName, localName } = field;
  const required = getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
  if (field.fieldKind === "list") {
    const writeItem = itemWriter(field);
    return (message, json, options) => {
      const items = message[localName] as readonly unknown[];
      if (items.length === 0 && !required && !options.emptyLists.has(jsonName)) return;
      json[jsonName] = items.map((item) => writeItem(item, options));
    };
  }
  if (field.fieldKind === "map") {
    const writeItem = itemWriter(field);
    return (message, json, options) => {
      const entries = Object.entries(message[localName] as Record<string, unknown>);
      if (entries.length === 0 && !required) return;
      // fromEntries defines members, so that a key `__proto__` stays data.
      json[jsonName] = Object.fromEntries(entries.map(([key, item]) => [key, writeItem(item, options)]));
    };
  }
  const write = singularWriter(field);
  if (field.oneof !== undefined) {
    const oneofName = field.oneof.localName;
    return (message, json, options) => {
      const chosen = message[oneofName] as { case?: string; value?: unknown };
      if (chosen.case === localName) json[jsonName] = write(chosen.value, options);
    };
  }
  if (field.presence !== FeatureSet_FieldPresence.IMPLICIT) {
    return (message, json, options) => {
      const value = Object.hasOwn(message, localName) ? message[localName] : undefined;
      if (value !== undefined) json[jsonName] = write(value, options);
    };
  }
  // An unspecified enum says nothing in any form, so it stays out although it is annotated.
  const always = required && field.fieldKind === "scalar";
  return (message, json, options) => {
    const value = message[localName];
    if (always || !isDefault(value)) json[jsonName] = write(value, options);
  };
}

function isDefault(value: unknown): boolean {
  if (value instanceof Uint8Array) return value.length === 0;
  return value === "" || value === false || value === 0n || Object.is(value, 0) || value === "0";
}

function singularWriter(field: DescField & { fieldKind: "scalar" | "enum" | "message" }): Write {
  if (field.fieldKind === "message") {
    const wrapped = isWrapperDesc(field.message) && field.oneof === undefined;
    const scalar = wrapped ? field.message.fields[0]?.scalar : undefined;
    // The runtime keeps the bare scalar of a wrapper that is a field of its own.
    return scalar === undefined ? lazy(field.message) : scalarWriter(scalar);
  }
  return field.fieldKind === "enum" ? enumWriter(field.enum) : scalarWriter(field.scalar);
}

function itemWriter(field: DescField & { fieldKind: "list" | "map" }): Write {
  if (field.message !== undefined) return lazy(field.message);
  return field.enum !== undefined ? enumWriter(field.enum) : scalarWriter(field.scalar);
}

/** Resolved on first use, so that only the messages that are printed are compiled. */
function lazy(desc: DescMessage): Write {
  let write: Write | undefined;
  return (value, options) => {
    write ??= writerOf(desc);
    return write(value, options);
  };
}

function enumWriter(desc: DescEnum): Write {
  if (desc.typeName === "google.protobuf.NullValue") return () => null;
  return (value) => desc.value[value as number]?.name ?? (value as number);
}

function scalarWriter(type: ScalarType): Write {
  switch (type) {
    case ScalarType.BYTES:
      return (value) => base64Encode(value as Uint8Array);
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return (value) => String(value);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (value) => (Number.isFinite(value) ? (value as number) : String(value));
    default:
      return (value) => value as string | number | boolean;
  }
}
