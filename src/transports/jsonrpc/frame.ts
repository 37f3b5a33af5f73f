import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { BatonError, invalidParams } from "../../domain/errors.ts";
import { MAX_JSON_DEPTH, parseJson } from "../json/read.ts";
import type { JsonScan } from "../json/scan.ts";

/** One JSON-RPC 2.0 request. */
export interface Frame {
  /** The id as it was written, to be echoed to the letter: no parser rounds it (A2A-131). */
  readonly id: string;
  readonly method: string;
  /** Absent and null params are the empty object (A2A-114). */
  readonly params: JsonObject;
}

/** A request that cannot be served, and the id to answer it with. */
export interface FrameFault {
  /** As written; `null` where no valid id could be read. */
  readonly id: string;
  /** The method, where it could be read. */
  readonly method?: string;
  readonly error: BatonError;
}

export const NULL_ID = "null";

/** Reads the frame around a request of either version (A2A-129 to A2A-133). Never throws. */
export function readFrame(text: string): Frame | FrameFault {
  let document: { value: JsonValue; scan: JsonScan };
  try {
    document = parseJson(text);
  } catch (thrown) {
    return { id: NULL_ID, error: BatonError.from(thrown) };
  }
  const { value, scan } = document;
  if (Array.isArray(value)) return invalid(NULL_ID, "batches are not supported");
  if (value === null || typeof value !== "object") return invalid(NULL_ID, "the request must be an object");
  // A repeated member of the frame leaves open which id or method is meant.
  const inParams = scan.duplicate?.startsWith("params.") || scan.duplicate?.startsWith("params[");
  if (scan.duplicate !== undefined && !inParams) {
    return invalid(NULL_ID, "the request repeats a member name");
  }
  const id = readId(text, value, scan);
  if (id === undefined) return invalid(NULL_ID, "id must be a string, an integer or null, and present");
  if (value.jsonrpc !== "2.0") return invalid(id, 'jsonrpc must be "2.0"');
  const { method } = value;
  if (typeof method !== "string") return invalid(id, "method must be a string");
  const params = value.params ?? {};
  if (typeof params !== "object" || Array.isArray(params)) {
    return { id, method, error: invalidParams({ field: "params", description: "must be an object" }) };
  }
  if (scan.duplicate !== undefined) {
    const field = scan.duplicate.slice("params.".length, 200);
    return { id, method, error: invalidParams({ field, description: "is given twice" }) };
  }
  if (scan.depth > MAX_JSON_DEPTH) {
    const description = `is nested more than ${MAX_JSON_DEPTH} levels deep`;
    return { id, method, error: invalidParams({ field: "params", description }) };
  }
  return { id, method, params };
}

function invalid(id: string, message: string): FrameFault {
  return { id, error: new BatonError("InvalidRequest", message) };
}

function readId(text: string, value: JsonObject, scan: JsonScan): string | undefined {
  const span = scan.members.get("id");
  if (span === undefined) return undefined;
  if (value.id === null) return NULL_ID;
  const raw = text.slice(span.start, span.end);
  if (typeof value.id === "string") return raw;
  return typeof value.id === "number" && /^-?\d+$/.test(raw) ? raw : undefined;
}
