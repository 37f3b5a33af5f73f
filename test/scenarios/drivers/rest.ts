/** HTTP+JSON by plain `fetch`. The routes are written out here, so that a wrong rule in the proto is seen. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import {
  type CallOptions,
  type Driver,
  type DriverKind,
  methodOf,
  type Operation,
  type Target,
  WireError,
} from "../driver.ts";
import { checkChallenge, checkErrorInfo } from "./check-error.ts";
import { callHeaders, withQuery } from "./headers.ts";
import { answerMessage, detailsFromJson } from "./messages.ts";
import { primed } from "./queue.ts";
import { readSse } from "./sse.ts";

interface Route {
  readonly verb: "GET" | "POST" | "DELETE";
  /** `{field}` stands for a field of the request. */
  readonly path: string;
}

/** a2a.md section 2.1. */
const ROUTES: Readonly<Record<Operation, Route>> = {
  SendMessage: { verb: "POST", path: "/message:send" },
  SendStreamingMessage: { verb: "POST", path: "/message:stream" },
  GetTask: { verb: "GET", path: "/tasks/{id}" },
  ListTasks: { verb: "GET", path: "/tasks" },
  CancelTask: { verb: "POST", path: "/tasks/{id}:cancel" },
  SubscribeToTask: { verb: "GET", path: "/tasks/{id}:subscribe" },
  CreateTaskPushNotificationConfig: { verb: "POST", path: "/tasks/{taskId}/pushNotificationConfigs" },
  GetTaskPushNotificationConfig: { verb: "GET", path: "/tasks/{taskId}/pushNotificationConfigs/{id}" },
  ListTaskPushNotificationConfigs: { verb: "GET", path: "/tasks/{taskId}/pushNotificationConfigs" },
  DeleteTaskPushNotificationConfig: { verb: "DELETE", path: "/tasks/{taskId}/pushNotificationConfigs/{id}" },
  GetExtendedAgentCard: { verb: "GET", path: "/extendedAgentCard" },
};

interface Call {
  readonly verb: string;
  readonly target: string;
  readonly body?: string;
}

/** Puts the fields of a request where the route wants them. */
function place(operation: Operation, request: JsonObject, options: CallOptions): Call {
  const { verb, path } = ROUTES[operation];
  const rest = { ...request };
  const filled = path.replace(/\{(\w+)\}/g, (_, field: string) => {
    const value = rest[field];
    delete rest[field];
    return encodeURIComponent(String(value ?? ""));
  });
  const prefix = options.pathTenant === undefined ? "" : `/${encodeURIComponent(options.pathTenant)}`;
  if (verb === "POST") return { verb, target: prefix + filled, body: JSON.stringify(rest) };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) {
    for (const item of Array.isArray(value) ? value : [value]) query.append(name, String(item));
  }
  return { verb, target: `${prefix}${filled}${query.size === 0 ? "" : `?${query}`}` };
}

function wireError(body: JsonValue | undefined, response: Response): WireError {
  const { code, status, message, details } = ((body as JsonObject | undefined)?.error ?? {}) as JsonObject;
  return new WireError({
    ...detailsFromJson(details),
    message: String(message ?? ""),
    wire: {
      http: response.status,
      grpc: Number(code),
      status: String(status),
      contentType: response.headers.get("content-type") ?? "",
    },
    headers: response.headers,
  });
}

async function errorOf(response: Response): Promise<WireError> {
  const text = await response.text();
  const isJson = /^application\/(a2a\+)?json\b/.test(response.headers.get("content-type") ?? "");
  return wireError(isJson ? (JSON.parse(text) as JsonValue) : undefined, response);
}

async function connect({ url }: Target): Promise<Driver> {
  const send = ({ verb, target, body }: Call, options: CallOptions, accept: string, contentType?: string) =>
    fetch(withQuery(`${url}${target}`, options), {
      method: verb,
      headers: {
        accept,
        ...(body === undefined ? {} : { "content-type": contentType ?? "application/json" }),
        ...callHeaders(options, "1.0"),
      },
      ...(body === undefined ? {} : { body }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });

  async function answer(call: Call, options: CallOptions, contentType?: string) {
    const response = await send(call, options, "application/json", contentType);
    // Every success is 200 with a body (A2A-121).
    if (response.status !== 200) throw await errorOf(response);
    return { json: (await response.json()) as JsonValue, headers: response.headers };
  }

  return {
    async unary(operation, request, options) {
      const { json, headers } = await answer(place(operation, request, options), options);
      return { message: answerMessage(methodOf(operation).output, json) as never, json, headers };
    },

    async stream(operation, request, options) {
      const controller = new AbortController();
      options.signal?.addEventListener("abort", () => controller.abort());
      const call = place(operation, request, options);
      const response = await send(call, { ...options, signal: controller.signal }, "text/event-stream");
      if (response.status !== 200) throw await errorOf(response);
      expect(response.headers.get("content-type")).toMatch(/^text\/event-stream\b/);
      if (response.body === null) throw new Error("a stream without a body");
      const frames = readSse(response.body);
      const next = await primed(async () => {
        const item = await frames.next();
        if (item.done === true) return undefined;
        const json = JSON.parse(item.value.data) as JsonObject;
        if (json.error === undefined) return answerMessage(StreamResponseSchema, json);
        expect(item.value.event, "A2A-140").toBe("error");
        throw wireError(json, response);
      });
      return { next, close: () => controller.abort(), headers: response.headers };
    },

    async malformed(kind, options) {
      if (kind === "unknown-method") return answer({ verb: "GET", target: "/tasks/a/b/c" }, options);
      const call = { verb: "POST", target: "/message:send" };
      if (kind === "content-type") return answer({ ...call, body: "{}" }, options, "text/csv");
      return answer({ ...call, body: '{"message": ' }, options);
    },

    sizeOf: (operation, request) => Buffer.byteLength(place(operation, request, { token: null }).body ?? ""),

    checkError(seen, kind, options) {
      const row = checkErrorInfo(seen, kind, options);
      expect(seen.wire.status, `${kind}: ${seen.message}`).toBe(row.grpc);
      // An error inside a stream keeps the numbers of its kind; the HTTP status has long been sent.
      expect(seen.wire.grpc, "A2A-155 error.code is the HTTP status").toBe(row.http);
      if (!seen.wire.contentType?.startsWith("text/event-stream")) {
        expect(seen.wire.http).toBe(row.http);
        expect(seen.wire.contentType).toMatch(/^application\/json\b/);
      }
      checkChallenge(seen, kind);
    },

    async close() {},
  };
}

export const restDriver: DriverKind = {
  name: "rest",
  version: "1.0",
  features: new Set(["json", "json-answer", "a2a-json", "path-tenant", "query", "list", "1.0-form"]),
  connect,
};
