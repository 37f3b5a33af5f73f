import { hash } from "node:crypto";
import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  type Part,
  Role,
  type SendMessageRequest,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError, type FieldViolation, invalidParams } from "./errors.ts";

/** Longest id that a client may send, in characters; ids are opaque otherwise (A2A-56). */
const MAX_ID = 128;
/** Task ids may be another system's: a run id of OpenWOP v2 has up to 262 characters. */
const MAX_TASK_ID = 512;
const MAX_TITLE = 200;

function idViolation(field: string, id: string, max = MAX_ID): FieldViolation[] {
  if (id === "") return [];
  if (id.trim() === "") return [{ field, description: "must not be blank" }];
  if (id.length > max) return [{ field, description: `must have at most ${max} characters` }];
  return [];
}

/** Checks a client's message beyond its required fields (A2A-42, A2A-43, A2A-56). Throws InvalidParams. */
export function checkClientMessage(request: SendMessageRequest): Message {
  const { message, configuration } = request;
  if (message === undefined) throw invalidParams({ field: "message", description: "is required" });
  const violations: FieldViolation[] = [
    ...idViolation("message.messageId", message.messageId),
    ...idViolation("message.taskId", message.taskId, MAX_TASK_ID),
    ...idViolation("message.contextId", message.contextId),
  ];
  if (message.role !== Role.USER)
    violations.push({ field: "message.role", description: "must be ROLE_USER" });
  message.parts.forEach((part, index) => {
    if (part.content.case === undefined) {
      violations.push({ field: `message.parts[${index}]`, description: "must hold text, raw, url or data" });
    }
  });
  violations.push(...historyLengthViolations(configuration?.historyLength, "configuration.historyLength"));
  if (violations.length > 0) throw invalidParams(...violations);
  return message;
}

/** A negative historyLength is invalid (A2A-72). */
export function historyLengthViolations(
  value: number | undefined,
  field = "historyLength",
): FieldViolation[] {
  return value !== undefined && value < 0 ? [{ field, description: "must not be negative" }] : [];
}

/** The store's form of a history length: all (-1) where it is unset (A2A-69). */
export function historyLimit(value: number | undefined): number {
  return value ?? -1;
}

/**
 * Refuses a part whose media type is none of those accepted (A2A-37). `accepted` may hold `*`/`*` and `type/*`; a part
 * that names no media type is not checked.
 */
export function checkMediaTypes(parts: readonly Part[], accepted: readonly string[]): void {
  for (const [index, part] of parts.entries()) {
    const type = part.mediaType.split(";")[0]?.trim().toLowerCase() ?? "";
    if (type === "" || accepted.some((mode) => mediaTypeMatches(mode.toLowerCase(), type))) continue;
    throw new BatonError("ContentTypeNotSupported", `message.parts[${index}]: media type not accepted`, {
      metadata: { mediaType: type.slice(0, 128), accepted: accepted.join(",") },
    });
  }
}

function mediaTypeMatches(mode: string, type: string): boolean {
  if (mode === "*/*" || mode === type) return true;
  return mode.endsWith("/*") && type.startsWith(mode.slice(0, -1));
}

/** One line for people: the start of the first text, at most 200 characters. */
export function titleOf(message: Message): string {
  for (const part of message.parts) {
    if (part.content.case !== "text") continue;
    const line = /\S[^\n]*/.exec(part.content.value)?.[0];
    if (line === undefined) continue;
    // A character is at most two code units, so no more than these are looked at.
    const start = line.trimEnd().slice(0, 2 * MAX_TITLE);
    return start.length <= MAX_TITLE ? start : [...start].slice(0, MAX_TITLE).join("");
  }
  return message.parts.find((part) => part.filename !== "")?.filename ?? "(no text)";
}

/** A digest of a message id that can stand in a key. */
export function messageKey(messageId: string): string {
  return hash("sha256", messageId, "base64url").slice(0, 32);
}

/** A digest of what a message says; equal for a retry of the same send, however it was encoded (A2A-44). */
export function contentHash(message: Message, metadata: JsonObject | undefined): string {
  const canonical = sortKeys([toJson(MessageSchema, message), metadata ?? {}]);
  return hash("sha256", JSON.stringify(canonical), "base64url").slice(0, 32);
}

function sortKeys(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sortKeys(value[name] as JsonValue)]));
}
