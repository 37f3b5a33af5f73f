/** What handlers say and return, and how it becomes parts, messages and artifacts of the protocol. */
import { clone, create, fromJson, isMessage, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
} from "../../gen/lf/a2a/v1/a2a_pb.js";

/** Text, one part, or several. */
export type Content = string | Part | readonly Part[];

/** What a handler may return: text or parts become the artifact `result`; artifacts are taken as they are. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement is a good handler
export type HandlerResult = Content | Artifact | readonly Artifact[] | undefined | void;

/** Id of the artifact that holds what a handler returned as text or parts. */
export const RESULT_ARTIFACT = "result";

export interface FileLabels {
  /** Such as `image/png`. */
  readonly mediaType?: string;
  readonly filename?: string;
}

/** A part of plain text. */
export function text(value: string): Part {
  return create(PartSchema, { content: { case: "text", value }, mediaType: "text/plain" });
}

/** A part that holds a JSON value. */
export function data(value: JsonValue): Part {
  return create(PartSchema, {
    content: { case: "data", value: fromJson(ValueSchema, value) },
    mediaType: "application/json",
  });
}

/** A part that holds the bytes of a file. */
export function file(bytes: Uint8Array, labels: FileLabels = {}): Part {
  return create(PartSchema, { content: { case: "raw", value: bytes }, ...labels });
}

/** A part that names a file to be fetched elsewhere. */
export function link(url: string, labels: FileLabels = {}): Part {
  return create(PartSchema, { content: { case: "url", value: url }, ...labels });
}

export interface ArtifactLabels {
  /** Names the artifact within its task; an artifact of the same id is replaced. Default: made by the gateway. */
  readonly id?: string;
  readonly name?: string;
  readonly description?: string;
}

/** An artifact, to return from a handler. */
export function artifact(content: Content, labels: ArtifactLabels = {}): Artifact {
  return create(ArtifactSchema, {
    artifactId: labels.id ?? "",
    name: labels.name ?? "",
    description: labels.description ?? "",
    parts: partsOf(content),
  });
}

export function partsOf(content: Content): Part[] {
  if (typeof content === "string") return [text(content)];
  return isMessage(content) ? [content] : [...content];
}

/** A message of the agent. Its id is made here and not by the gateway, so that a retry is the same message. */
export function messageOf(content: Content | Message): Message {
  const message = isMessage(content, MessageSchema)
    ? clone(MessageSchema, content)
    : create(MessageSchema, { parts: partsOf(content) });
  message.messageId ||= crypto.randomUUID();
  message.role = Role.AGENT;
  return message;
}

/** The text parts of a message, one below the other. */
export function textOf(message: Message | undefined): string {
  return (message?.parts ?? [])
    .flatMap(({ content }) => (content.case === "text" ? [content.value] : []))
    .join("\n");
}

/** The artifacts that a handler's return value stands for. Throws TypeError for anything else. */
export function artifactsOf(result: HandlerResult): Artifact[] {
  if (result === undefined) return [];
  if (typeof result === "string" || isMessage(result, PartSchema))
    return [artifact(result, { id: RESULT_ARTIFACT })];
  if (isMessage(result, ArtifactSchema)) return [result];
  if (Array.isArray(result)) {
    const artifacts = result.filter((item) => isMessage(item, ArtifactSchema));
    if (artifacts.length === result.length) return artifacts;
    const parts = result.filter((item) => isMessage(item, PartSchema));
    if (parts.length === result.length) return [artifact(parts, { id: RESULT_ARTIFACT })];
  }
  throw new TypeError("a handler returns text, parts, artifacts or nothing; use data() for a JSON value");
}
