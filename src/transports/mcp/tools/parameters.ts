/** Parameters that several tools share. */
import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type Duration, durationFromMs, ValueSchema } from "@bufbuild/protobuf/wkt";
import * as z from "zod";
import { type Message, MessageSchema, type Part, PartSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { invalidParams } from "../../../domain/errors.ts";
import { stringFault } from "../../json/scalars.ts";
import { valueViolation } from "../../json/values.ts";

export const id = z.string().describe("Id of the todo.");
export const queue = z.string().optional();
export const leaseToken = z
  .string()
  .optional()
  .describe("The lease_token of the claim; required when the claim asked for a fence.");
export const leaseTtl = z
  .int()
  .max(2 ** 31 - 1)
  .min(-(2 ** 31))
  .optional()
  .describe(
    "Length of the lease in seconds; absent or not positive: the endpoint's default. At most 86400; more is cut.",
  );
export const summary = z
  .string()
  .optional()
  .describe("Your account for the attempt history, at most 2048 bytes.");
export const artifactReference = z
  .string()
  .optional()
  .describe("An https URL or mcp:// reference to what this attempt left behind.");
/** Any JSON. */
export const json = z.unknown().optional();
export const messageText = z.string().min(1);

export function duration(seconds: number | undefined): { leaseTtl?: Duration } {
  return seconds === undefined ? {} : { leaseTtl: durationFromMs(seconds * 1000) };
}

/** Text as it can be stored. Throws InvalidParams. */
export function checkedText(field: string, text: string): string {
  const fault = stringFault(text);
  if (fault !== undefined) throw invalidParams({ field, description: fault });
  return text;
}

/** JSON as it can be stored; null and nothing are nothing. Throws InvalidParams. */
export function checkedJson(field: string, value: unknown): JsonValue | undefined {
  if (value === undefined || value === null) return undefined;
  // It came out of a JSON body.
  const json = value as JsonValue;
  const violation = valueViolation(json, field);
  if (violation !== undefined) throw invalidParams(violation);
  return json;
}

export function textPart(field: string, text: string): Part {
  return create(PartSchema, { content: { case: "text", value: checkedText(field, text) } });
}

export function dataPart(value: JsonValue, mediaType = ""): Part {
  return create(PartSchema, { mediaType, content: { case: "data", value: fromJson(ValueSchema, value) } });
}

export function messageOf(...parts: Part[]): Message {
  return create(MessageSchema, { parts });
}
