import { type DescMessage, fromJson, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { BatonError, invalidParams } from "../../domain/errors.ts";
import { jsonViolations } from "./check.ts";
import { type JsonScan, scanJson } from "./scan.ts";

/** A parsed text and what its exact spelling tells. */
export interface JsonDocument {
  readonly value: JsonValue;
  readonly scan: JsonScan;
}

/** Deepest nesting of a whole request body. Free-form values inside it have a lower bound of their own. */
export const MAX_JSON_DEPTH = 64;

/** Parses a text without judging repeated names; the frame around a message has its own rule for them. Throws ParseError. */
export function parseJson(text: string): JsonDocument {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw new BatonError("ParseError", "the body is not valid JSON", { cause });
  }
  return { value, scan: scanJson(text) };
}

/** Reads the ProtoJSON of a request (a2a.md section 7). Throws InvalidParams that names each field by its JSON path. */
export function readMessage<D extends DescMessage>(desc: D, json: JsonValue): MessageShape<D> {
  const violations = jsonViolations(desc, json);
  if (violations.length > 0) throw invalidParams(...violations);
  try {
    return fromJson(desc, json, { ignoreUnknownFields: true });
  } catch (cause) {
    throw new BatonError("InvalidParams", `the request is not a valid ${desc.name}`, { cause });
  }
}
