/** Answers in ProtoJSON of the 0.3 proto as ProtoJSON of 1.0. Which names there may be, the generated schema has checked. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import type { UnaryOperation } from "../driver.ts";
import { cardOf, checkFinal, isObject, renamed, unwrapped } from "./v03-json.ts";

const each = (json: JsonValue | undefined, read: (json: JsonObject) => JsonValue): JsonValue | undefined =>
  json === undefined ? undefined : (json as JsonObject[]).map(read);

function part({ text, file, data, metadata }: JsonObject): JsonObject {
  if (isObject(data)) return unwrapped((data.data ?? {}) as JsonObject, metadata);
  if (!isObject(file)) return { ...renamed("text", text), ...renamed("metadata", metadata) };
  return {
    ...renamed("raw", file.fileWithBytes),
    ...renamed("url", file.fileWithUri),
    ...renamed("filename", file.name),
    ...renamed("mediaType", file.mimeType),
    ...renamed("metadata", metadata),
  };
}

function message({ content, ...rest }: JsonObject): JsonObject {
  return { ...rest, ...renamed("parts", each(content, part)) };
}

function artifact({ parts, ...rest }: JsonObject): JsonObject {
  return { ...rest, ...renamed("parts", each(parts, part)) };
}

/** 0.3 spells one of the states with two L. */
function status({ state, message: said, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    ...renamed("state", state === "TASK_STATE_CANCELLED" ? "TASK_STATE_CANCELED" : state),
    ...(isObject(said) ? { message: message(said) } : {}),
  };
}

function task({ status: now, history, artifacts, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    ...(isObject(now) ? { status: status(now) } : {}),
    ...renamed("history", each(history, message)),
    ...renamed("artifacts", each(artifacts, artifact)),
  };
}

/** An answer to a send, or an event of a stream. */
export function protoEvent(json: JsonObject): JsonObject {
  const { task: whole, message: said, statusUpdate, artifactUpdate } = json;
  if (isObject(whole)) return { task: task(whole) };
  if (isObject(said)) return { message: message(said) };
  if (isObject(artifactUpdate)) {
    return {
      artifactUpdate: { ...artifactUpdate, artifact: artifact(artifactUpdate.artifact as JsonObject) },
    };
  }
  if (!isObject(statusUpdate)) throw new Error(`no event of 0.3: ${JSON.stringify(json)}`);
  const { final = false, status: now, ...rest } = statusUpdate;
  const translated = status(now as JsonObject);
  checkFinal(final, translated.state);
  return { statusUpdate: { ...rest, status: translated } };
}

function pushConfig({ name, pushNotificationConfig }: JsonObject): JsonObject {
  const { authentication, ...rest } = pushNotificationConfig as JsonObject;
  const [tasks, taskId, collection, id, ...more] = String(name).split("/");
  expect([tasks, collection, more]).toEqual(["tasks", "pushNotificationConfigs", []]);
  expect(rest.id, "the id stands in the name and in the config").toBe(id);
  if (!isObject(authentication)) return { ...rest, ...renamed("taskId", taskId) };
  const { schemes, ...others } = authentication;
  return {
    ...rest,
    ...renamed("taskId", taskId),
    authentication: { ...others, ...renamed("scheme", (schemes as JsonValue[])[0]) },
  };
}

/** The answer to an operation as ProtoJSON of the 1.0 answer. */
export function protoAnswer(operation: UnaryOperation, json: JsonObject): JsonObject {
  switch (operation) {
    case "SendMessage":
      return protoEvent(json);
    case "GetTask":
    case "CancelTask":
      return task(json);
    case "CreateTaskPushNotificationConfig":
    case "GetTaskPushNotificationConfig":
      return pushConfig(json);
    case "ListTaskPushNotificationConfigs":
      expect(json).not.toHaveProperty("nextPageToken");
      return { configs: each(json.configs ?? [], pushConfig) ?? [] };
    case "DeleteTaskPushNotificationConfig":
      expect(json, "A2A-125").toEqual({});
      return {};
    case "GetExtendedAgentCard":
      // What the card cannot do is left out of its JSON: in the proto absent is false.
      return cardOf({
        ...json,
        capabilities: { streaming: false, pushNotifications: false, ...(json.capabilities as JsonObject) },
      });
    default:
      throw new Error(`0.3 has no ${operation}`);
  }
}
