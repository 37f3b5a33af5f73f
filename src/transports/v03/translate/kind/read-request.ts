/** Reads the params of the JSON-RPC methods of 0.3 into requests of 1.0. All throw InvalidParams with 0.3 paths. */
import type { JsonObject } from "@bufbuild/protobuf";
import {
  type CancelTaskRequest,
  CancelTaskRequestSchema,
  type GetTaskRequest,
  GetTaskRequestSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SubscribeToTaskRequest,
  SubscribeToTaskRequestSchema,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from "../../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Members } from "./members.ts";
import { messageJson, readKind } from "./read.ts";

export function readSendParams(params: JsonObject): SendMessageRequest {
  return readKind(SendMessageRequestSchema, params, (members) => {
    const message = members.object("message");
    const configuration = members.object("configuration");
    return {
      ...members.copy("metadata"),
      ...(message === undefined ? {} : { message: messageJson(message) }),
      ...(configuration === undefined ? {} : { configuration: configurationJson(configuration) }),
    };
  });
}

/** Without `blocking` the answer waits (A2A-164). */
function configurationJson(configuration: Members): JsonObject {
  const push = configuration.object("pushNotificationConfig");
  return {
    ...configuration.copy("acceptedOutputModes", "historyLength"),
    returnImmediately: configuration.scalar("blocking", "boolean") === false,
    ...(push === undefined ? {} : { taskPushNotificationConfig: pushConfigJson(push) }),
  };
}

/** Of several schemes the first is taken (A2A-167). */
function pushConfigJson(config: Members): JsonObject {
  const authentication = config.object("authentication");
  return {
    ...config.copy("id", "url", "token"),
    ...(authentication === undefined
      ? {}
      : { authentication: { ...authentication.copy("credentials"), ...schemeJson(authentication) } }),
  };
}

function schemeJson(authentication: Members): JsonObject {
  const schemes = authentication.get("schemes");
  if (schemes === undefined) return {};
  if (Array.isArray(schemes) && schemes.every((scheme) => typeof scheme === "string")) {
    return { scheme: schemes[0] ?? "" };
  }
  authentication.fault("schemes", "must be an array of strings");
  return {};
}

export function readGetParams(params: JsonObject): GetTaskRequest {
  return readKind(GetTaskRequestSchema, params, (members) => members.copy("id", "historyLength"));
}

export function readCancelParams(params: JsonObject): CancelTaskRequest {
  return readKind(CancelTaskRequestSchema, params, (members) => members.copy("id", "metadata"));
}

export function readResubscribeParams(params: JsonObject): SubscribeToTaskRequest {
  return readKind(SubscribeToTaskRequestSchema, params, (members) => members.copy("id"));
}

/** "Set" and not "create": without an id the task's own id names the config, so a second one replaces it (A2A-169). */
export function readSetPushParams(params: JsonObject): TaskPushNotificationConfig {
  return readKind(TaskPushNotificationConfigSchema, params, (members) => {
    const taskId = members.scalar("taskId", "string") ?? "";
    const config = members.object("pushNotificationConfig");
    if (config === undefined) members.fault("pushNotificationConfig", "is required");
    const json = config === undefined ? {} : pushConfigJson(config);
    return { ...json, taskId, id: json.id === undefined || json.id === "" ? taskId : json.id };
  });
}

/** What names a task, and perhaps one of its configs. */
export interface PushParams {
  readonly taskId: string;
  readonly configId: string;
}

/** The params of get, list and delete. The ids may be missing; whoever uses them says so. */
export function pushParamsOf(members: Members): PushParams {
  return {
    taskId: members.scalar("id", "string") ?? "",
    configId: members.scalar("pushNotificationConfigId", "string") ?? "",
  };
}
