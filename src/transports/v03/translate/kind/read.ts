/**
 * Reads messages, tasks and events of the JSON-RPC dialect of 0.3. Each becomes the ProtoJSON of 1.0 first, so that what
 * both versions share is judged in one place. Unknown members are dropped at every depth (A2A-161).
 */
import type { DescMessage, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
} from "../../../../../gen/lf/a2a/v1/a2a_pb.js";
import { readMessage } from "../../../json/read.ts";
import { isJsonObject, unwrapData } from "../data-compat.ts";
import { Faults, Members } from "./members.ts";
import { ROLES, STATE_NAMES, stateOfName } from "./names.ts";

/** Translates a document and reads the result. Throws InvalidParams with the paths of the 0.3 document. */
export function readKind<D extends DescMessage>(
  desc: D,
  json: JsonValue,
  translate: (members: Members) => JsonObject,
): MessageShape<D> {
  const faults = new Faults();
  const translated = translate(Members.of(json, "", faults));
  faults.raise();
  return readMessage(desc, translated);
}

/** One member, or none. */
function put(key: string, value: JsonValue | undefined): JsonObject {
  return value === undefined ? {} : { [key]: value };
}

const PART_KINDS = ["text", "file", "data"] as const;

function partJson(part: Members): JsonObject {
  const metadata = put("metadata", part.get("metadata"));
  switch (partKind(part)) {
    case "text": {
      const text = part.scalar("text", "string");
      if (part.get("text") === undefined) part.fault("text", "is required");
      return { ...put("text", text), ...metadata };
    }
    case "file":
      return { ...fileJson(part.object("file") ?? missing(part, "file")), ...metadata };
    case "data":
      return dataJson(part);
    default:
      return {};
  }
}

function partKind(part: Members): string | undefined {
  const kind = part.get("kind");
  if (kind !== undefined) {
    if (PART_KINDS.some((known) => known === kind)) return String(kind);
    part.fault("kind", "must be text, file or data");
    return undefined;
  }
  const present = PART_KINDS.filter((key) => part.get(key) !== undefined);
  if (present.length === 1) return present[0];
  part.faults.add(part.path, "must hold one of text, file and data");
  return undefined;
}

function missing(part: Members, key: string): Members {
  part.fault(key, "is required");
  return Members.of({}, part.at(key), part.faults);
}

function fileJson(file: Members): JsonObject {
  const bytes = file.scalar("bytes", "base64");
  const uri = file.scalar("uri", "string");
  const given = ["bytes", "uri"].filter((key) => file.get(key) !== undefined);
  if (given.length !== 1) file.faults.add(file.path, "must hold either bytes or uri");
  return {
    ...put("raw", bytes),
    ...put("url", uri),
    ...put("filename", file.scalar("name", "string")),
    ...put("mediaType", file.scalar("mimeType", "string")),
  };
}

function dataJson(part: Members): JsonObject {
  const data = part.get("data");
  const metadata = part.get("metadata");
  if (!isJsonObject(data)) {
    part.fault("data", data === undefined ? "is required" : "must be an object");
    return {};
  }
  // Metadata of another type is left for the 1.0 reader to refuse.
  if (!isJsonObject(metadata)) return { data, ...put("metadata", metadata) };
  const unwrapped = unwrapData(data, metadata);
  return { data: unwrapped.data, ...put("metadata", unwrapped.metadata) };
}

export function messageJson(message: Members): JsonObject {
  message.expectKind("message");
  const given = message.get("role");
  const role = typeof given === "string" ? ROLES.get(given) : undefined;
  if (given !== undefined && role === undefined) message.fault("role", "must be user or agent");
  return {
    ...message.copy("messageId", "contextId", "taskId", "referenceTaskIds", "extensions", "metadata"),
    ...put("role", role),
    ...put("parts", message.list("parts", partJson)),
  };
}

function artifactJson(artifact: Members): JsonObject {
  return {
    ...artifact.copy("artifactId", "name", "description", "extensions", "metadata"),
    ...put("parts", artifact.list("parts", partJson)),
  };
}

function statusJson(status: Members): JsonObject {
  const name = status.get("state");
  const state = typeof name === "string" ? stateOfName(name) : undefined;
  if (state === undefined) status.fault("state", `must be one of ${STATE_NAMES.join(", ")}`);
  const message = status.object("message");
  const timestamp = status.scalar("timestamp", "string");
  return {
    ...put("state", state),
    ...put("message", message && messageJson(message)),
    ...put("timestamp", timestamp && withZone(timestamp)),
  };
}

/** 0.3 says ISO 8601 and no more, and Python peers wrote local-looking times that were UTC. */
function withZone(timestamp: string): string {
  return /T[^Zz+-]*$/.test(timestamp) ? `${timestamp}Z` : timestamp;
}

function taskJson(task: Members): JsonObject {
  task.expectKind("task");
  const status = task.object("status") ?? missing(task, "status");
  return {
    ...task.copy("id", "contextId", "metadata"),
    status: statusJson(status),
    ...put("artifacts", task.list("artifacts", artifactJson)),
    ...put("history", task.list("history", messageJson)),
  };
}

function statusUpdateJson(event: Members): JsonObject {
  const status = event.object("status") ?? missing(event, "status");
  return { ...event.copy("taskId", "contextId", "metadata"), status: statusJson(status) };
}

function artifactUpdateJson(event: Members): JsonObject {
  const artifact = event.object("artifact") ?? missing(event, "artifact");
  return {
    ...event.copy("taskId", "contextId", "append", "lastChunk", "metadata"),
    artifact: artifactJson(artifact),
  };
}

function eventJson(event: Members): JsonObject {
  switch (event.get("kind")) {
    case "task":
      return { task: taskJson(event) };
    case "message":
      return { message: messageJson(event) };
    case "status-update":
      return { statusUpdate: statusUpdateJson(event) };
    case "artifact-update":
      return { artifactUpdate: artifactUpdateJson(event) };
    default:
      event.fault("kind", "must be task, message, status-update or artifact-update");
      return {};
  }
}

export function readMessageKind(json: JsonValue): Message {
  return readKind(MessageSchema, json, messageJson);
}

export function readTask(json: JsonValue): Task {
  return readKind(TaskSchema, json, taskJson);
}

/** The answer to a send, or one event of a stream: here `kind` decides. */
export function readEvent(json: JsonValue): StreamResponse {
  return readKind(StreamResponseSchema, json, eventJson);
}
