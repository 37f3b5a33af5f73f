/**
 * Answers with `kind` as the ProtoJSON of 1.0. A reader to the letter: a member that 0.3 lacks, or lacks not, is a
 * failure (A2A-122, A2A-161).
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import type { UnaryOperation } from "../driver.ts";
import { cardOf, checkFinal, isObject, renamed, unwrapped } from "./v03-json.ts";

const STATES: Readonly<Record<string, string>> = {
  submitted: "TASK_STATE_SUBMITTED",
  working: "TASK_STATE_WORKING",
  "input-required": "TASK_STATE_INPUT_REQUIRED",
  completed: "TASK_STATE_COMPLETED",
  canceled: "TASK_STATE_CANCELED",
  failed: "TASK_STATE_FAILED",
  rejected: "TASK_STATE_REJECTED",
  "auth-required": "TASK_STATE_AUTH_REQUIRED",
  unknown: "TASK_STATE_UNSPECIFIED",
};

/** The members of an object of 0.3: all of `required`, perhaps some of `optional`, no others and none null. */
function members(json: JsonValue | undefined, required: string, optional: string): JsonObject {
  if (!isObject(json)) throw new Error(`no object: ${JSON.stringify(json)}`);
  const needed = required.split(" ").filter((name) => name !== "");
  const known = [...needed, ...optional.split(" ")];
  const missing = needed.filter((name) => json[name] === undefined);
  const odd = Object.keys(json).filter((name) => !known.includes(name) || json[name] === null);
  expect({ missing, odd }, JSON.stringify(json)).toEqual({ missing: [], odd: [] });
  return json;
}

const each = (json: JsonValue | undefined, read: (json: JsonValue) => JsonValue): JsonValue | undefined =>
  json === undefined ? undefined : (json as JsonValue[]).map(read);

function part(json: JsonValue): JsonObject {
  const { kind, metadata, ...rest } = members(json, "kind", "text file data metadata");
  switch (kind) {
    case "text":
      members(rest, "text", "");
      return { ...rest, ...renamed("metadata", metadata) };
    case "file": {
      const { bytes, uri, name, mimeType } = members(rest.file, "", "bytes uri name mimeType");
      expect([bytes, uri].filter((value) => value !== undefined)).toHaveLength(1);
      return {
        ...renamed("raw", bytes),
        ...renamed("url", uri),
        ...renamed("filename", name),
        ...renamed("mediaType", mimeType),
        ...renamed("metadata", metadata),
      };
    }
    default: {
      expect(kind).toBe("data");
      return unwrapped(members(rest, "data", "").data as JsonObject, metadata);
    }
  }
}

function message(json: JsonValue): JsonObject {
  const { kind, role, parts, ...rest } = members(
    json,
    "kind messageId role parts",
    "contextId taskId referenceTaskIds extensions metadata",
  );
  expect(kind).toBe("message");
  expect(["user", "agent"]).toContain(role);
  return {
    ...rest,
    role: role === "user" ? "ROLE_USER" : "ROLE_AGENT",
    parts: (parts as JsonValue[]).map(part),
  };
}

function artifact(json: JsonValue | undefined): JsonObject {
  const { parts, ...rest } = members(json, "artifactId parts", "name description extensions metadata");
  return { ...rest, parts: (parts as JsonValue[]).map(part) };
}

function status(json: JsonValue | undefined): JsonObject {
  const { state, message: said, ...rest } = members(json, "state", "message timestamp");
  const name = STATES[String(state)];
  if (name === undefined) throw new Error(`A2A-162 ${String(state)} is no state of 0.3`);
  return { ...rest, state: name, ...(said === undefined ? {} : { message: message(said) }) };
}

export function kindTask(json: JsonValue): JsonObject {
  const { kind, history, artifacts, ...rest } = members(
    json,
    "kind id contextId status",
    "history artifacts metadata",
  );
  expect(kind).toBe("task");
  return {
    ...rest,
    status: status(rest.status),
    ...renamed("history", each(history, message)),
    ...renamed("artifacts", each(artifacts, artifact)),
  };
}

/** An answer to a send, or an event of a stream. */
export function kindEvent(json: JsonValue): JsonObject {
  switch (isObject(json) ? json.kind : undefined) {
    case "task":
      return { task: kindTask(json) };
    case "message":
      return { message: message(json) };
    case "status-update": {
      const { kind: _, final, ...rest } = members(json, "kind taskId contextId status final", "metadata");
      const now = status(rest.status);
      checkFinal(final, now.state);
      return { statusUpdate: { ...rest, status: now } };
    }
    case "artifact-update": {
      const { kind: _, ...rest } = members(
        json,
        "kind taskId contextId artifact",
        "append lastChunk metadata",
      );
      return { artifactUpdate: { ...rest, artifact: artifact(rest.artifact) } };
    }
    default:
      throw new Error(`no event of 0.3: ${JSON.stringify(json)}`);
  }
}

function pushConfig(json: JsonValue): JsonObject {
  const { taskId, pushNotificationConfig } = members(json, "taskId pushNotificationConfig", "");
  const { authentication, ...rest } = members(pushNotificationConfig, "url", "id token authentication");
  if (authentication === undefined) return { ...rest, ...renamed("taskId", taskId) };
  const { schemes, ...others } = members(authentication, "schemes", "credentials");
  return {
    ...rest,
    ...renamed("taskId", taskId),
    authentication: { ...others, scheme: (schemes as JsonValue[])[0] ?? "" },
  };
}

/** The answer to an operation as ProtoJSON of the 1.0 answer. */
export function kindAnswer(operation: UnaryOperation, json: JsonValue): JsonObject {
  switch (operation) {
    case "SendMessage":
      return kindEvent(json);
    case "GetTask":
    case "CancelTask":
      return kindTask(json);
    case "CreateTaskPushNotificationConfig":
    case "GetTaskPushNotificationConfig":
      return pushConfig(json);
    case "ListTaskPushNotificationConfigs":
      return { configs: (json as JsonValue[]).map(pushConfig) };
    case "DeleteTaskPushNotificationConfig":
      expect(json, "A2A-125").toBeNull();
      return {};
    case "GetExtendedAgentCard":
      return cardOf(json as JsonObject);
    default:
      throw new Error(`0.3 has no ${operation}`);
  }
}
