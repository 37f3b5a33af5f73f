/** Prints messages, tasks and events of 1.0 in the JSON-RPC dialect of 0.3: objects with `kind` (a2a.md 4.1). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import type {
  Artifact,
  Message,
  Part,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskArtifactUpdateEvent,
  TaskPushNotificationConfig,
  TaskStatus,
  TaskStatusUpdateEvent,
} from "../../../../../gen/lf/a2a/v1/a2a_pb.js";
import { printMessage } from "../../../json/print.ts";
import { plainJson, valueJson } from "../../../json/print-value.ts";
import { wrapData } from "../data-compat.ts";
import { isFinal } from "../final.ts";
import { roleName, stateName } from "./names.ts";

/** A member that is left out when it is empty. */
function text(key: string, value: string): JsonObject {
  return value === "" ? {} : { [key]: value };
}

function list(key: string, values: readonly JsonValue[]): JsonObject {
  return values.length === 0 ? {} : { [key]: [...values] };
}

function metadataOf(metadata: JsonObject | undefined): JsonObject {
  return metadata === undefined ? {} : { metadata: plainJson(metadata) };
}

function writePart(part: Part): JsonObject {
  const { content, metadata } = part;
  switch (content.case) {
    case "raw":
      return {
        kind: "file",
        file: file(part, { bytes: base64Encode(content.value) }),
        ...metadataOf(metadata),
      };
    case "url":
      return { kind: "file", file: file(part, { uri: content.value }), ...metadataOf(metadata) };
    case "data": {
      const wrapped = wrapData(valueJson(content.value), metadata);
      return { kind: "data", data: wrapped.data, ...metadataOf(wrapped.metadata) };
    }
    default:
      return { kind: "text", text: content.value ?? "", ...metadataOf(metadata) };
  }
}

function file({ filename, mediaType }: Part, content: JsonObject): JsonObject {
  return { ...content, ...text("name", filename), ...text("mimeType", mediaType) };
}

export function writeMessage(message: Message): JsonObject {
  return {
    kind: "message",
    messageId: message.messageId,
    role: roleName(message.role),
    parts: message.parts.map(writePart),
    ...text("contextId", message.contextId),
    ...text("taskId", message.taskId),
    ...list("referenceTaskIds", message.referenceTaskIds),
    ...list("extensions", message.extensions),
    ...metadataOf(message.metadata),
  };
}

function writeArtifact(artifact: Artifact): JsonObject {
  return {
    artifactId: artifact.artifactId,
    ...text("name", artifact.name),
    ...text("description", artifact.description),
    parts: artifact.parts.map(writePart),
    ...list("extensions", artifact.extensions),
    ...metadataOf(artifact.metadata),
  };
}

function writeStatus(status: TaskStatus | undefined): JsonObject {
  return {
    state: stateName(status?.state ?? 0),
    ...(status?.message === undefined ? {} : { message: writeMessage(status.message) }),
    ...(status?.timestamp === undefined ? {} : { timestamp: time(status.timestamp) }),
  };
}

function time(timestamp: Timestamp): JsonValue {
  return printMessage(TimestampSchema, timestamp);
}

/** A whole task; also the body of a push that was registered under 0.3 (A2A-174). */
export function writeTask(task: Task): JsonObject {
  return {
    kind: "task",
    id: task.id,
    contextId: task.contextId,
    status: writeStatus(task.status),
    ...list("artifacts", task.artifacts.map(writeArtifact)),
    ...list("history", task.history.map(writeMessage)),
    ...metadataOf(task.metadata),
  };
}

function writeStatusUpdate({ taskId, contextId, status, metadata }: TaskStatusUpdateEvent): JsonObject {
  return {
    kind: "status-update",
    taskId,
    contextId,
    status: writeStatus(status),
    final: isFinal(status?.state),
    ...metadataOf(metadata),
  };
}

function writeArtifactUpdate(event: TaskArtifactUpdateEvent): JsonObject {
  const { artifact } = event;
  return {
    kind: "artifact-update",
    taskId: event.taskId,
    contextId: event.contextId,
    ...(artifact === undefined ? {} : { artifact: writeArtifact(artifact) }),
    ...(event.append ? { append: true } : {}),
    ...(event.lastChunk ? { lastChunk: true } : {}),
    ...metadataOf(event.metadata),
  };
}

/** The bare object that a send answers, or that one event of a stream holds. */
export function writeEvent({ payload }: SendMessageResponse | StreamResponse): JsonObject {
  switch (payload.case) {
    case "task":
      return writeTask(payload.value);
    case "message":
      return writeMessage(payload.value);
    case "statusUpdate":
      return writeStatusUpdate(payload.value);
    case "artifactUpdate":
      return writeArtifactUpdate(payload.value);
    default:
      throw new Error("an event without a payload");
  }
}

export function writeTaskPushConfig(config: TaskPushNotificationConfig): JsonObject {
  const { authentication } = config;
  return {
    taskId: config.taskId,
    pushNotificationConfig: {
      ...text("id", config.id),
      url: config.url,
      ...text("token", config.token),
      ...(authentication === undefined
        ? {}
        : {
            authentication: {
              schemes: [authentication.scheme],
              ...text("credentials", authentication.credentials),
            },
          }),
    },
  };
}
