/** Requests of 1.0 as a JSON-RPC client of 0.3 writes them: objects with `kind` (a2a.md 4.1). Written from its text. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../driver.ts";
import { isObject, renamed, wrapped } from "./v03-json.ts";

interface Method {
  readonly name: string;
  params?(request: JsonObject): JsonObject;
}

const METHODS: Readonly<Partial<Record<Operation, Method>>> = {
  SendMessage: { name: "message/send", params: send },
  SendStreamingMessage: { name: "message/stream", params: send },
  GetTask: { name: "tasks/get", params: (request) => request },
  CancelTask: { name: "tasks/cancel", params: (request) => request },
  SubscribeToTask: { name: "tasks/resubscribe", params: (request) => request },
  CreateTaskPushNotificationConfig: {
    name: "tasks/pushNotificationConfig/set",
    params: ({ taskId = "", ...config }) => ({ taskId, pushNotificationConfig: pushConfig(config) }),
  },
  GetTaskPushNotificationConfig: { name: "tasks/pushNotificationConfig/get", params: configOfTask },
  ListTaskPushNotificationConfigs: { name: "tasks/pushNotificationConfig/list", params: configOfTask },
  DeleteTaskPushNotificationConfig: { name: "tasks/pushNotificationConfig/delete", params: configOfTask },
  // The only method of 0.3 without params.
  GetExtendedAgentCard: { name: "agent/getAuthenticatedExtendedCard" },
};

/** Method and params for an operation. Throws for what 0.3 cannot say. */
export function kindCall(operation: Operation, request: JsonObject): { method: string; params?: JsonValue } {
  const method = METHODS[operation];
  if (method === undefined) throw new Error(`0.3 has no ${operation}`);
  return { method: method.name, ...(method.params === undefined ? {} : { params: method.params(request) }) };
}

function send({ message, configuration, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    ...(isObject(message) ? { message: kindMessage(message) } : {}),
    ...(isObject(configuration) ? { configuration: kindConfiguration(configuration) } : {}),
  };
}

function kindMessage({ role, parts, ...rest }: JsonObject): JsonObject {
  return {
    kind: "message",
    ...rest,
    role: role === "ROLE_USER" ? "user" : "agent",
    parts: (parts as JsonObject[]).map(kindPart),
  };
}

/** What has no content gets no `kind` either. */
function kindPart({ text, raw, url, data, filename, mediaType, metadata }: JsonObject): JsonObject {
  const extra: JsonObject = metadata === undefined ? {} : { metadata };
  if (text !== undefined) return { kind: "text", text, ...extra };
  if (data !== undefined) return { kind: "data", ...wrapped(data, metadata) };
  const named = { ...renamed("name", filename), ...renamed("mimeType", mediaType) };
  if (raw !== undefined) return { kind: "file", file: { bytes: raw, ...named }, ...extra };
  if (url !== undefined) return { kind: "file", file: { uri: url, ...named }, ...extra };
  return { ...named, ...extra };
}

/** `blocking` is left out where a client would wait anyway: absent waits (A2A-164). */
function kindConfiguration({
  returnImmediately,
  taskPushNotificationConfig,
  ...rest
}: JsonObject): JsonObject {
  return {
    ...rest,
    ...(returnImmediately === true ? { blocking: false } : {}),
    ...(isObject(taskPushNotificationConfig)
      ? { pushNotificationConfig: pushConfig(taskPushNotificationConfig) }
      : {}),
  };
}

/** A registration; the JSON of the 0.3 proto is the same here. */
export function pushConfig({ authentication, ...rest }: JsonObject): JsonObject {
  if (!isObject(authentication)) return rest;
  const { scheme, ...others } = authentication;
  return { ...rest, authentication: { ...others, ...(scheme === undefined ? {} : { schemes: [scheme] }) } };
}

function configOfTask({ taskId, id }: JsonObject): JsonObject {
  return { ...renamed("id", taskId), ...renamed("pushNotificationConfigId", id) };
}
