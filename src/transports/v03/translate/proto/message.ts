/** Messages, artifacts and their parts: package a2a.v1 (0.3) and package lf.a2a.v1 (1.0), both ways. */
import { create, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type FilePart,
  FilePartSchema,
  type Artifact as OldArtifact,
  ArtifactSchema as OldArtifactSchema,
  type Message as OldMessage,
  MessageSchema as OldMessageSchema,
  type Part as OldPart,
  PartSchema as OldPartSchema,
} from "../../../../../gen/a2a/v1/a2a_pb.js";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
} from "../../../../../gen/lf/a2a/v1/a2a_pb.js";
import { valueJson } from "../../../json/print-value.ts";
import { unwrapData, wrapData } from "../data-compat.ts";
import { whenSet } from "../when-set.ts";

/** Media type and name of text and data have no place in 0.3 (A2A-166). */
function partToV03(part: Part): OldPart {
  const { content, metadata } = part;
  switch (content.case) {
    case "raw":
      return filePart(part, { case: "fileWithBytes", value: content.value });
    case "url":
      return filePart(part, { case: "fileWithUri", value: content.value });
    case "data": {
      const wrapped = wrapData(valueJson(content.value), metadata);
      return create(OldPartSchema, {
        part: { case: "data", value: { data: wrapped.data } },
        ...whenSet("metadata", wrapped.metadata),
      });
    }
    case "text":
      return create(OldPartSchema, {
        part: { case: "text", value: content.value },
        ...whenSet("metadata", metadata),
      });
    default:
      return create(OldPartSchema, whenSet("metadata", metadata));
  }
}

function filePart({ filename, mediaType, metadata }: Part, file: FilePart["file"]): OldPart {
  const value = create(FilePartSchema, { file, name: filename, mimeType: mediaType });
  return create(OldPartSchema, { part: { case: "file", value }, ...whenSet("metadata", metadata) });
}

/** A file part without a file becomes a part without content, which 1.0 refuses by its place. */
function partFromV03({ part, metadata }: OldPart): Part {
  switch (part.case) {
    case "text":
      return create(PartSchema, { content: part, ...whenSet("metadata", metadata) });
    case "file": {
      const { file, name, mimeType } = part.value;
      const content =
        file.case === "fileWithBytes"
          ? ({ case: "raw", value: file.value } as const)
          : file.case === "fileWithUri"
            ? ({ case: "url", value: file.value } as const)
            : ({ case: undefined } as const);
      const common = { filename: name, mediaType: mimeType, ...whenSet("metadata", metadata) };
      return create(PartSchema, { content, ...common });
    }
    case "data":
      return dataFromV03(part.value.data ?? {}, metadata);
    default:
      return create(PartSchema, whenSet("metadata", metadata));
  }
}

function dataFromV03(json: JsonObject, flagged: JsonObject | undefined): Part {
  const { data, metadata } = unwrapData(json, flagged);
  const value = fromJson(ValueSchema, data);
  return create(PartSchema, { content: { case: "data", value }, ...whenSet("metadata", metadata) });
}

/** References to other tasks have no place in the 0.3 proto. */
export function messageToV03(message: Message): OldMessage {
  const { messageId, contextId, taskId, role, extensions, metadata } = message;
  return create(OldMessageSchema, {
    messageId,
    contextId,
    taskId,
    // The numbers of both enums are the same.
    role: role as number,
    extensions,
    content: message.parts.map(partToV03),
    ...whenSet("metadata", metadata),
  });
}

export function messageFromV03(message: OldMessage): Message {
  const { messageId, contextId, taskId, role, extensions, metadata } = message;
  return create(MessageSchema, {
    messageId,
    contextId,
    taskId,
    // The numbers of both enums are the same.
    role: role as number,
    extensions,
    parts: message.content.map(partFromV03),
    ...whenSet("metadata", metadata),
  });
}

export function artifactToV03({ artifactId, name, description, extensions, ...rest }: Artifact): OldArtifact {
  return create(OldArtifactSchema, {
    artifactId,
    name,
    description,
    extensions,
    parts: rest.parts.map(partToV03),
    ...whenSet("metadata", rest.metadata),
  });
}

export function artifactFromV03({
  artifactId,
  name,
  description,
  extensions,
  ...rest
}: OldArtifact): Artifact {
  return create(ArtifactSchema, {
    artifactId,
    name,
    description,
    extensions,
    parts: rest.parts.map(partFromV03),
    ...whenSet("metadata", rest.metadata),
  });
}
