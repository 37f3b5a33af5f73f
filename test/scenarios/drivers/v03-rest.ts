/** HTTP+JSON of 0.3: the routes under `/v1`, ProtoJSON of the 0.3 proto, and bare errors. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { StreamResponseSchema as OldEventSchema } from "../../../gen/a2a/v1/a2a_pb.js";
import { StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import {
  type Answer,
  type DriverKind,
  methodOf,
  type Operation,
  type UnaryOperation,
  WireError,
} from "../driver.ts";
import { answerMessage } from "./messages.ts";
import { connectRest, type RestCall, type RestDialect } from "./rest.ts";
import { checkLegacy, fromProtoName, legacyDetails } from "./v03-error.ts";
import { isObject } from "./v03-json.ts";
import { protoAnswer, protoEvent } from "./v03-proto-answer.ts";
import { protoCall } from "./v03-proto-request.ts";

/** A resource name as a path: its ids are single segments, whatever they hold. */
function path(name: string): string {
  const [, task, config] = /^tasks\/(.*?)(?:\/pushNotificationConfigs\/(.*))?$/s.exec(name) ?? [];
  const base = `/v1/tasks/${encodeURIComponent(task ?? "")}`;
  return config === undefined ? base : `${base}/pushNotificationConfigs/${encodeURIComponent(config)}`;
}

function withQuery(target: string, query: JsonObject): string {
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return pairs.length === 0 ? target : `${target}?${new URLSearchParams(pairs)}`;
}

/** a2a.md section 2.1, the column of 0.3. */
function place(operation: Operation, request: JsonObject): RestCall {
  const { name, parent, config, ...rest } = protoCall(operation, request).request;
  const target = path(String(name ?? parent));
  const body = JSON.stringify(rest);
  switch (operation) {
    case "SendMessage":
      return { verb: "POST", target: "/v1/message:send", body };
    case "SendStreamingMessage":
      return { verb: "POST", target: "/v1/message:stream", body };
    case "CancelTask":
      return { verb: "POST", target: `${target}:cancel`, body };
    case "SubscribeToTask":
      return { verb: "GET", target: `${target}:subscribe` };
    case "CreateTaskPushNotificationConfig":
      return {
        verb: "POST",
        target: withQuery(`${target}/pushNotificationConfigs`, rest),
        body: JSON.stringify(config),
      };
    case "ListTaskPushNotificationConfigs":
      return { verb: "GET", target: `${target}/pushNotificationConfigs` };
    case "DeleteTaskPushNotificationConfig":
      return { verb: "DELETE", target };
    case "GetExtendedAgentCard":
      return { verb: "GET", target: "/v1/card" };
    default:
      return { verb: "GET", target: withQuery(target, rest) };
  }
}

/** The body is the error itself; a path that is no route of 0.3 is answered in the form of 1.0. */
function readError(body: JsonValue | undefined, response: Response): WireError {
  const whole = isObject(body) ? body : {};
  const { code, message, data, details, ...rest } = isObject(whole.error) ? whole.error : whole;
  if (!isObject(whole.error)) expect(rest, "nothing but code, message and data").toEqual({});
  return new WireError({
    ...legacyDetails(fromProtoName, data ?? details),
    message: String(message ?? ""),
    wire: {
      http: response.status,
      jsonrpc: Number(code),
      contentType: response.headers.get("content-type") ?? "",
    },
    headers: response.headers,
  });
}

const DIALECT: RestDialect = {
  version: null,
  call: place,
  answer(operation, json) {
    const { output } = protoCall(operation, {});
    answerMessage(output, json);
    return answerMessage(
      methodOf(operation).output,
      protoAnswer(operation, json as JsonObject),
    ) as Answer<UnaryOperation>;
  },
  event(json) {
    answerMessage(OldEventSchema, json);
    return answerMessage(StreamResponseSchema, protoEvent(json as JsonObject));
  },
  error: readError,
  isError: ({ code }) => code !== undefined,
  checkError(seen, kind, { bare }) {
    // The path says the version, so only what is no route of 0.3 is answered in the form of 1.0, HTTP status for code.
    const row = checkLegacy(seen, kind, { bare, unread: ["RouteNotFound"] });
    const code = seen.detailTypes.length > 0 ? row.http : row.jsonrpc;
    expect(seen.wire.jsonrpc, `${kind}: ${seen.message}`).toBe(code);
    return row;
  },
  shown: () => ({}),
};

export const restDriverV03: DriverKind = {
  name: "rest 0.3",
  version: "0.3",
  features: new Set(["json", "path-tenant", "query"]),
  connect: (target) => connectRest(DIALECT, target),
};
