import type { JsonValue, Message } from "@bufbuild/protobuf";
import type { ListValue, Struct, Value } from "@bufbuild/protobuf/wkt";

/**
 * Prints a `google.protobuf.Value`, `ListValue` or `Struct` that is held as a message. A number that is not finite can
 * arrive in binary only; it is printed as text, as ProtoJSON does for doubles, because throwing would make the whole
 * task unreadable for ever.
 */
export function valueJson(message: Message): JsonValue {
  if (message.$typeName === "google.protobuf.ListValue") return (message as ListValue).values.map(valueJson);
  if (message.$typeName === "google.protobuf.Struct") return structJson(message as Struct);
  const { kind } = message as Value;
  switch (kind.case) {
    case "numberValue":
      return finite(kind.value);
    case "stringValue":
    case "boolValue":
      return kind.value;
    case "structValue":
      return structJson(kind.value);
    case "listValue":
      return kind.value.values.map(valueJson);
    default:
      return null;
  }
}

function structJson(struct: Struct): JsonValue {
  // fromEntries defines members, so that a key `__proto__` stays data.
  return Object.fromEntries(Object.entries(struct.fields).map(([key, value]) => [key, valueJson(value)]));
}

/** Prints a `google.protobuf.Struct` that is a field: the runtime keeps it as a plain object. */
export function plainJson(value: JsonValue): JsonValue {
  if (typeof value === "number") return finite(value);
  if (Array.isArray(value)) return value.map(plainJson);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plainJson(item)]));
}

function finite(value: number): JsonValue {
  return Number.isFinite(value) ? value : String(value);
}
