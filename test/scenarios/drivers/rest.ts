/** HTTP+JSON by plain `fetch`. The routes are written out here, so that a wrong rule in the proto is seen. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { type StreamResponse, StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { ErrorKind } from "../../../src/domain/errors.ts";
import {
  type Answer,
  type CallOptions,
  type Driver,
  type DriverKind,
  methodOf,
  type Operation,
  type SeenError,
  type Target,
  type UnaryOperation,
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

export interface RestCall {
  readonly verb: string;
  /** Path below the tenant, and query. */
  readonly target: string;
  readonly body?: string;
}

/** The routes and JSON of one version of the protocol. */
export interface RestDialect {
  /** `A2A-Version` that its clients send; null for none. */
  readonly version: string | null;
  call(operation: Operation, request: JsonObject): RestCall;
  answer(operation: UnaryOperation, json: JsonValue): Answer<UnaryOperation>;
  event(json: JsonValue): StreamResponse;
  /** Reads an error's body; undefined where it is no JSON. `response` adds what stands outside the body. */
  error(body: JsonValue | undefined, response: Response): WireError;
  isError(event: JsonObject): boolean;
  /** Checks code and details; the status of the answer is checked by the driver. */
  checkError(
    seen: SeenError,
    kind: ErrorKind,
    options: { readonly bare: boolean },
  ): { readonly http: number };
  /** The answer in JSON, for dialects whose JSON the table knows. */
  shown(json: JsonValue): { readonly json?: JsonValue };
}

/** Puts the fields of a request where the route wants them. */
function place(operation: Operation, request: JsonObject): RestCall {
  const { verb, path } = ROUTES[operation];
  const rest = { ...request };
  const filled = path.replace(/\{(\w+)\}/g, (_, field: string) => {
    const value = rest[field];
    delete rest[field];
    return encodeURIComponent(String(value ?? ""));
  });
  if (verb === "POST") return { verb, target: filled, body: JSON.stringify(rest) };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) {
    for (const item of Array.isArray(value) ? value : [value]) query.append(name, String(item));
  }
  return { verb, target: `${filled}${query.size === 0 ? "" : `?${query}`}` };
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

async function errorOf(dialect: RestDialect, response: Response): Promise<WireError> {
  const text = await response.text();
  const isJson = /^application\/(a2a\+)?json\b/.test(response.headers.get("content-type") ?? "");
  return dialect.error(isJson ? (JSON.parse(text) as JsonValue) : undefined, response);
}

export async function connectRest(dialect: RestDialect, { url }: Target): Promise<Driver> {
  const prefix = ({ pathTenant }: CallOptions) =>
    pathTenant === undefined ? "" : `/${encodeURIComponent(pathTenant)}`;
  const send = (
    { verb, target, body }: RestCall,
    options: CallOptions,
    accept: string,
    contentType?: string,
  ) =>
    fetch(withQuery(`${url}${prefix(options)}${target}`, options), {
      method: verb,
      headers: {
        accept,
        ...(body === undefined ? {} : { "content-type": contentType ?? "application/json" }),
        ...callHeaders(options, dialect.version),
      },
      ...(body === undefined ? {} : { body }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });

  async function answer(call: RestCall, options: CallOptions, contentType?: string) {
    const response = await send(call, options, "application/json", contentType);
    // Every success is 200 with a body (A2A-121).
    if (response.status !== 200) throw await errorOf(dialect, response);
    return { json: (await response.json()) as JsonValue, headers: response.headers };
  }

  return {
    async unary(operation, request, options) {
      const { json, headers } = await answer(dialect.call(operation, request), options);
      return { message: dialect.answer(operation, json) as never, ...dialect.shown(json), headers };
    },

    async stream(operation, request, options) {
      const controller = new AbortController();
      options.signal?.addEventListener("abort", () => controller.abort());
      const call = dialect.call(operation, request);
      const response = await send(call, { ...options, signal: controller.signal }, "text/event-stream");
      if (response.status !== 200) throw await errorOf(dialect, response);
      expect(response.headers.get("content-type")).toMatch(/^text\/event-stream\b/);
      if (response.body === null) throw new Error("a stream without a body");
      const frames = readSse(response.body);
      const next = await primed(async () => {
        const item = await frames.next();
        if (item.done === true) return undefined;
        const json = JSON.parse(item.value.data) as JsonObject;
        if (!dialect.isError(json)) return dialect.event(json);
        expect(item.value.event, "A2A-140").toBe("error");
        throw dialect.error(json, response);
      });
      return { next, close: () => controller.abort(), headers: response.headers };
    },

    async malformed(kind, options) {
      if (kind === "unknown-method") {
        const { target } = dialect.call("GetTask", { id: "a" });
        return answer({ verb: "GET", target: `${target}/b/c` }, options);
      }
      const call = { ...dialect.call("SendMessage", {}) };
      if (kind === "content-type") return answer({ ...call, body: "{}" }, options, "text/csv");
      return answer({ ...call, body: '{"message": ' }, options);
    },

    sizeOf: (operation, request) => Buffer.byteLength(dialect.call(operation, request).body ?? ""),

    checkError(seen, kind, options) {
      const row = dialect.checkError(seen, kind, options);
      // An error inside a stream keeps the numbers of its kind; the HTTP status has long been sent.
      if (!seen.wire.contentType?.startsWith("text/event-stream")) {
        expect(seen.wire.http).toBe(row.http);
        expect(seen.wire.contentType).toMatch(/^application\/json\b/);
      }
      checkChallenge(seen, kind);
    },

    async close() {},
  };
}

const DIALECT: RestDialect = {
  version: "1.0",
  call: place,
  answer: (operation, json) => answerMessage(methodOf(operation).output, json) as Answer<UnaryOperation>,
  event: (json) => answerMessage(StreamResponseSchema, json),
  error: wireError,
  isError: ({ error }) => error !== undefined,
  checkError(seen, kind, options) {
    const row = checkErrorInfo(seen, kind, options);
    expect(seen.wire.status, `${kind}: ${seen.message}`).toBe(row.grpc);
    expect(seen.wire.grpc, "A2A-155 error.code is the HTTP status").toBe(row.http);
    return row;
  },
  shown: (json) => ({ json }),
};

export const restDriver: DriverKind = {
  name: "rest",
  version: "1.0",
  features: new Set([
    "json",
    "json-answer",
    "a2a-json",
    "path-tenant",
    "query",
    "list",
    "1.0-form",
    "error-data",
  ]),
  connect: (target) => connectRest(DIALECT, target),
};
