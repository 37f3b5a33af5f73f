import { createHash } from "node:crypto";
import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Message, Role } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError } from "../errors.ts";
import { openwopMetadata } from "./resume-value.ts";

/** Names of the workflow's inputs that a message fills. */
export interface InputPorts {
  readonly text: string;
  readonly data: string;
  readonly files: string;
}

/** The host's bound on a tag, in characters. */
const MAX_TAG = 256;

/** Metadata keys that Baton itself reads, and that are therefore not passed on with the message's metadata. */
const DECLARED = ["openwop", "idempotencyKey"];

/**
 * The inputs of the run that a message starts (openwop.md 2.5): its texts, its data, and its files as references that
 * nobody fetches. Bytes are refused: they would have to stand in the host's event log.
 */
export function runInputs(message: Message, ports: InputPorts): JsonObject {
  const texts: string[] = [];
  const data: JsonValue[] = [];
  const files: JsonObject[] = [];
  for (const part of message.parts) {
    const { content, filename, mediaType } = part;
    if (content.case === "text") texts.push(content.value);
    else if (content.case === "data") data.push(toJson(ValueSchema, content.value));
    else if (content.case === "url") {
      files.push({
        url: content.value,
        ...(filename === "" ? {} : { filename }),
        ...(mediaType === "" ? {} : { mediaType }),
      });
    } else if (content.case === "raw") {
      throw new BatonError("ContentTypeNotSupported", "this agent takes files by url only, not as bytes");
    }
  }
  const [first] = data;
  return {
    ...(texts.length === 0 ? {} : { [ports.text]: texts.join("\n") }),
    ...(first === undefined ? {} : { [ports.data]: first }),
    ...(files.length === 0 ? {} : { [ports.files]: files }),
  };
}

/** `a2a:<messageId>` and `a2a:<contextId>`; a digest stands for an id that would be too long. */
export function runTags(messageId: string, contextId: string): string[] {
  return [messageId, contextId].map((id) => {
    const tag = `a2a:${id}`;
    return tag.length <= MAX_TAG ? tag : `a2a:sha256-${createHash("sha256").update(id).digest("base64url")}`;
  });
}

/** `metadata` of the run: where it came from, and that its content is not to be trusted whatever the role (OW-58). */
export function runMetadata(message: Message, contextId: string): JsonObject {
  const messageMetadata = Object.fromEntries(
    Object.entries(message.metadata ?? {}).filter(([key]) => !DECLARED.includes(key)),
  );
  return {
    a2a: {
      messageId: message.messageId,
      contextId,
      role: Role[message.role] === undefined ? "user" : Role[message.role].toLowerCase(),
      ...(Object.keys(messageMetadata).length === 0 ? {} : { messageMetadata }),
    },
    openwop: { contentTrust: "untrusted" },
  };
}

/** `metadata.openwop.permittedPurposes`: absent means unlabelled, an empty list means no onward use. */
export function permittedPurposes(message: Message): string[] | undefined {
  const value = openwopMetadata(message.metadata).permittedPurposes;
  if (!Array.isArray(value)) return undefined;
  return value.filter((purpose): purpose is string => typeof purpose === "string").slice(0, 100);
}

/** Trace headers of the message, for correlation only; malformed ones are left out (OW-60). */
export function traceHeaders(message: Message): Record<string, string> {
  const { traceparent, tracestate } = openwopMetadata(message.metadata);
  return soundTrace(traceparent, tracestate);
}

/** What of a trace context is well-formed, as headers (OW-60). */
export function soundTrace(traceparent: unknown, tracestate: unknown): Record<string, string> {
  if (typeof traceparent !== "string" || !isTraceparent(traceparent)) return {};
  const state =
    typeof tracestate === "string" && /^[\x20-\x7e]{1,512}$/.test(tracestate) ? { tracestate } : {};
  return { traceparent, ...state };
}

function isTraceparent(text: string): boolean {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(text);
  return match !== null && !/^0+$/.test(match[1] ?? "") && !/^0+$/.test(match[2] ?? "");
}

/**
 * The key that makes a create or a resolve happen once, however often it is asked for: a digest of who sent which
 * message to which agent (OW-20). URL-safe.
 */
export function idempotencyKey(agent: string, owner: string, messageId: string, purpose: string): string {
  const text = JSON.stringify([agent, owner, messageId, purpose]);
  return `a2a-${createHash("sha256").update(text).digest("base64url")}`;
}
