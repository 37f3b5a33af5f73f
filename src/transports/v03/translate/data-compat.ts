/**
 * Data in 0.3 is an object; in 1.0 it is any JSON value. What is no object travels as `{"value": <data>}` under a flag
 * in the part's metadata (A2A-165), as the official SDKs do it.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

const FLAG = "data_part_compat";

/** The content and metadata of a data part. */
export interface DataContent<D extends JsonValue = JsonValue> {
  readonly data: D;
  readonly metadata: JsonObject | undefined;
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** 1.0 to 0.3. Empty metadata and none are the same, since the flag leaves no difference behind. */
export function wrapData(data: JsonValue, given: JsonObject | undefined): DataContent<JsonObject> {
  const metadata = given === undefined || Object.keys(given).length === 0 ? undefined : given;
  if (isJsonObject(data)) return { data, metadata };
  return { data: { value: data }, metadata: { ...metadata, [FLAG]: true } };
}

/** 0.3 to 1.0. Metadata that held nothing but the flag was none before. */
export function unwrapData(data: JsonObject, metadata: JsonObject | undefined): DataContent {
  if (metadata?.[FLAG] !== true || !Object.hasOwn(data, "value")) return { data, metadata };
  const rest = Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== FLAG));
  // Present: hasOwn said so.
  const value = data.value as JsonValue;
  return { data: value, metadata: Object.keys(rest).length === 0 ? undefined : rest };
}
