/**
 * The bodies of HTTP+JSON 0.3 are ProtoJSON of the 0.3 proto. The text of 0.3, read naively, promises the objects with
 * `kind` of JSON-RPC there too, so both are taken: their members do not clash, but for the data of a part, where `kind`
 * tells (a2a.md 4).
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../translate/data-compat.ts";
import { ROLES } from "../translate/kind/names.ts";

/** Gives the `kind` forms in a send request their names in the proto; all else stays as it is. */
export function protoSendBody(body: JsonObject): JsonObject {
  const { message, configuration } = body;
  const ofKind = isJsonObject(message) && (Object.hasOwn(message, "kind") || Object.hasOwn(message, "parts"));
  return {
    ...body,
    ...(isJsonObject(message) ? { message: protoMessage(message) } : {}),
    ...(isJsonObject(configuration) ? { configuration: protoConfiguration(configuration, ofKind) } : {}),
  };
}

function protoMessage(message: JsonObject): JsonObject {
  const { role, parts, ...rest } = message;
  const content = rest.content ?? parts;
  return {
    ...rest,
    ...(role === undefined ? {} : { role: (typeof role === "string" && ROLES.get(role)) || role }),
    ...(content === undefined ? {} : { content: Array.isArray(content) ? content.map(protoPart) : content }),
  };
}

function protoPart(part: JsonValue): JsonValue {
  if (!isJsonObject(part)) return part;
  const { file, data } = part;
  if (part.kind === "data" && data !== undefined) return { ...part, data: { data } };
  return isJsonObject(file) ? { ...part, file: protoFile(file) } : part;
}

function protoFile({ bytes, uri, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    ...(bytes === undefined ? {} : { fileWithBytes: bytes }),
    ...(uri === undefined ? {} : { fileWithUri: uri }),
  };
}

/** In the form with `kind` an absent `blocking` waits, as on JSON-RPC; in the proto absent is false (A2A-164). */
function protoConfiguration(configuration: JsonObject, ofKind: boolean): JsonObject {
  const { pushNotificationConfig, ...rest } = configuration;
  return {
    ...(ofKind ? { blocking: true } : {}),
    ...rest,
    ...(pushNotificationConfig === undefined ? {} : { pushNotification: pushNotificationConfig }),
  };
}

/**
 * Finds the parts of a request for a push registration in its body, which the route has put under `config`. The tag says
 * that the body is the registration; peers also send the whole request, and the object of JSON-RPC.
 */
export function protoCreateBody(request: JsonObject): JsonObject {
  const { config: body, ...rest } = request;
  if (!isJsonObject(body)) return request;
  if (!isJsonObject(body.config)) return request;
  const configId = body.configId ?? body.config_id;
  return { ...rest, ...(configId === undefined ? {} : { configId }), config: body.config };
}
