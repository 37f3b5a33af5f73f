/** Requests of 1.0 as ProtoJSON of the 0.3 proto, written from that proto: names of resources instead of ids. */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/a2a/v1/a2a_pb.js";
import type { Operation } from "../driver.ts";
import { isObject, renamed, wrapped } from "./v03-json.ts";
import { pushConfig } from "./v03-kind-request.ts";

/** An rpc of 0.3 and its request. */
export interface ProtoCall {
  readonly rpc: string;
  readonly input: DescMessage;
  readonly output: DescMessage;
  readonly request: JsonObject;
}

/** Throws for what 0.3 cannot say. */
export function protoCall(operation: Operation, request: JsonObject): ProtoCall {
  const { method } = A2AService;
  const taskId = String(request.taskId ?? "");
  switch (operation) {
    case "SendMessage":
      return call(method.sendMessage, send(request));
    case "SendStreamingMessage":
      return call(method.sendStreamingMessage, send(request));
    case "GetTask":
      return call(method.getTask, named(request, "historyLength"));
    case "CancelTask":
      return call(method.cancelTask, named(request));
    case "SubscribeToTask":
      return call(method.taskSubscription, named(request));
    case "CreateTaskPushNotificationConfig": {
      const { taskId: _, ...config } = request;
      return call(method.createTaskPushNotificationConfig, {
        parent: `tasks/${taskId}`,
        ...renamed("configId", config.id),
        config: { pushNotificationConfig: pushConfig(config) },
      });
    }
    case "GetTaskPushNotificationConfig":
      return call(method.getTaskPushNotificationConfig, { name: configName(request) });
    case "ListTaskPushNotificationConfigs":
      return call(method.listTaskPushNotificationConfig, { parent: `tasks/${taskId}` });
    case "DeleteTaskPushNotificationConfig":
      return call(method.deleteTaskPushNotificationConfig, { name: configName(request) });
    case "GetExtendedAgentCard":
      return call(method.getAgentCard, {});
    default:
      throw new Error(`0.3 has no ${operation}`);
  }
}

type Method = (typeof A2AService)["method"][keyof (typeof A2AService)["method"]];

const call = ({ name, input, output }: Method, request: JsonObject): ProtoCall => ({
  rpc: name,
  input,
  output,
  request,
});

const configName = ({ taskId, id }: JsonObject) =>
  `tasks/${String(taskId)}/pushNotificationConfigs/${String(id)}`;

function named({ id, ...rest }: JsonObject, ...kept: readonly string[]): JsonObject {
  const others = Object.entries(rest).filter(([key]) => kept.includes(key));
  return { name: `tasks/${String(id)}`, ...Object.fromEntries(others) };
}

function send({ message, configuration, metadata }: JsonObject): JsonObject {
  return {
    ...(isObject(message) ? { message: protoMessage(message) } : {}),
    ...(isObject(configuration) ? { configuration: protoConfiguration(configuration) } : {}),
    ...renamed("metadata", metadata),
  };
}

function protoMessage({ parts, referenceTaskIds: _, ...rest }: JsonObject): JsonObject {
  return { ...rest, content: (parts as JsonObject[]).map(protoPart) };
}

function protoPart({ text, raw, url, data, filename, mediaType, metadata }: JsonObject): JsonObject {
  const extra: JsonObject = metadata === undefined ? {} : { metadata };
  if (text !== undefined) return { text, ...extra };
  if (data !== undefined) {
    const { data: object, ...others } = wrapped(data, metadata);
    return { data: { data: object ?? {} }, ...others };
  }
  const described = { ...renamed("name", filename), ...renamed("mimeType", mediaType) };
  if (raw !== undefined) return { file: { fileWithBytes: raw, ...described }, ...extra };
  if (url !== undefined) return { file: { fileWithUri: url, ...described }, ...extra };
  return extra;
}

/** False and absent are one, and do not wait (A2A-164). */
function protoConfiguration({
  returnImmediately,
  taskPushNotificationConfig,
  ...rest
}: JsonObject): JsonObject {
  return {
    ...rest,
    ...(returnImmediately === true ? {} : { blocking: true }),
    ...(isObject(taskPushNotificationConfig)
      ? { pushNotification: pushConfig(taskPushNotificationConfig) }
      : {}),
  };
}
