import { type DescField, type JsonValue, ScalarType } from "@bufbuild/protobuf";

/** Well-known messages whose JSON form is one string or number. */
const AS_TEXT = new Set([
  "google.protobuf.Timestamp",
  "google.protobuf.Duration",
  "google.protobuf.FieldMask",
]);

/** Whether a field can be given as text in a path or query at all: scalars, enums, times, and lists of them (A2A-119). */
export function takesText(field: DescField): boolean {
  if (field.fieldKind === "map") return false;
  return field.message === undefined || AS_TEXT.has(field.message.typeName);
}

/**
 * The JSON that a text stands for. What does not fit stays text, and reading the request then refuses it by name
 * (A2A-120).
 */
export function textValue(field: DescField, text: string): JsonValue {
  if (field.enum !== undefined) return /^-?\d{1,10}$/.test(text) ? Number(text) : text;
  if (field.message?.typeName === "google.protobuf.Timestamp") {
    // A plus sign that was not encoded has become a space; no time has a space before its zone.
    return text.replace(/ (\d{2}:\d{2})$/, "+$1");
  }
  if (field.scalar === ScalarType.BOOL && (text === "true" || text === "false")) return text === "true";
  return text;
}
