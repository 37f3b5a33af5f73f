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
  type SeenError,
  type UnaryOperation,
  WireError,
} from "../driver.ts";
import { checkErrorInfo } from "./check-error.ts";
import { answerMessage, detailsFromJson } from "./messages.ts";
import { connectRest, type RestCall, type RestDialect } from "./rest.ts";
import { fromProtoName, withNames } from "./v03-names.ts";
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

/** What stands in `data`: strings, and the fields that are wrong. */
function readData(data: JsonValue | undefined): Pick<SeenError, "metadata" | "violations"> {
  const { fieldViolations = [], ...metadata } = (data ?? {}) as JsonObject;
  return {
    metadata: metadata as Record<string, string>,
    violations: (fieldViolations as JsonObject[]).map(({ field, description }) => ({
      field: String(field),
      description: String(description),
    })),
  };
}

/**
 * The body is the error itself, as most clients of 0.3 read it, and holds the envelope of 1.0, as one reads it; both say
 * the same. A path that is no route of 0.3 has the envelope only.
 */
function readError(body: JsonValue | undefined, response: Response): WireError {
  const { error, ...bare } = (body ?? {}) as JsonObject;
  const envelope = (error ?? {}) as JsonObject;
  const typed = detailsFromJson(envelope.details);
  if (bare.code !== undefined) {
    expect(Object.keys(bare).filter((name) => name !== "data")).toEqual(["code", "message"]);
    expect(bare.message).toBe(envelope.message);
    const { metadata, violations } = readData(bare.data);
    expect(metadata).toEqual(typed.metadata);
    expect(violations.map(({ field }) => field)).toEqual(typed.violations.map(({ field }) => field));
  }
  return new WireError({
    ...withNames(fromProtoName, typed),
    message: String(envelope.message ?? ""),
    wire: {
      http: response.status,
      ...(bare.code === undefined ? {} : { jsonrpc: Number(bare.code) }),
      grpc: Number(envelope.code),
      status: String(envelope.status),
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
  isError: ({ code, error }) => code !== undefined || error !== undefined,
  checkError(seen, kind, options) {
    const row = checkErrorInfo(seen, kind, options);
    const codes = kind === "RouteNotFound" ? [undefined, row.jsonrpc] : [row.jsonrpc];
    expect(codes, `${kind}: ${seen.message}`).toContain(seen.wire.jsonrpc);
    expect([seen.wire.grpc, seen.wire.status]).toEqual([row.http, row.grpc]);
    return row;
  },
  shown: () => ({}),
};

export const restDriverV03: DriverKind = {
  name: "rest 0.3",
  version: "0.3",
  features: new Set(["json", "path-tenant", "query", "error-data"]),
  connect: (target) => connectRest(DIALECT, target),
};
