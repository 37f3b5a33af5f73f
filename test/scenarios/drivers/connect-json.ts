/** The Connect protocol with JSON, by plain `fetch`, so that every byte of head and body can be looked at. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { A2AService, StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { GrpcCodeName } from "../../../src/domain/errors.ts";
import {
  type CallOptions,
  type Driver,
  type DriverKind,
  type Malformed,
  methodOf,
  type Operation,
  type Target,
  WireError,
} from "../driver.ts";
import { checkChallenge, checkErrorInfo } from "./check-error.ts";
import { callHeaders, withQuery } from "./headers.ts";
import { answerMessage, detailsFromConnect } from "./messages.ts";
import { primed } from "./queue.ts";

/** HTTP status of a unary Connect error, by code, from the Connect protocol. */
const HTTP_OF: Readonly<Record<GrpcCodeName, number>> = {
  CANCELLED: 499,
  UNKNOWN: 500,
  INVALID_ARGUMENT: 400,
  DEADLINE_EXCEEDED: 504,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  PERMISSION_DENIED: 403,
  RESOURCE_EXHAUSTED: 429,
  FAILED_PRECONDITION: 400,
  ABORTED: 409,
  UNIMPLEMENTED: 501,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  UNAUTHENTICATED: 401,
};

const spelled = (code: GrpcCodeName): string => (code === "CANCELLED" ? "canceled" : code.toLowerCase());

/** `metadata` of the last frame of a stream: its trailers (Connect protocol, EndStreamResponse). */
function trailersOf(metadata: JsonValue | undefined): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries((metadata ?? {}) as Record<string, string[]>)) {
    for (const value of values) headers.append(name, value);
  }
  return headers;
}

function wireError(
  json: JsonValue | undefined,
  response: Response,
  streamed?: { readonly trailers: Headers },
): WireError {
  const { code, message = "", details } = (json ?? {}) as JsonObject;
  return new WireError({
    ...detailsFromConnect(details),
    message: String(message),
    wire: {
      status: String(code),
      contentType: response.headers.get("content-type") ?? "",
      // An error of a stream is its last frame; the HTTP status says nothing.
      ...(streamed === undefined ? { http: response.status } : {}),
    },
    headers: streamed?.trailers ?? response.headers,
  });
}

async function connect({ url }: Target): Promise<Driver> {
  const post = (rpc: string, body: Uint8Array | string, contentType: string, options: CallOptions) =>
    fetch(withQuery(`${url}/${A2AService.typeName}/${rpc}`, options), {
      method: "POST",
      headers: {
        ...callHeaders(options, "1.0"),
        "content-type": contentType,
        "connect-protocol-version": "1",
        ...(options.timeoutMs === undefined ? {} : { "connect-timeout-ms": String(options.timeoutMs) }),
      },
      body: typeof body === "string" ? body : (body as Uint8Array<ArrayBuffer>),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });

  async function unaryJson(rpc: string, body: string, contentType: string, options: CallOptions) {
    const response = await post(rpc, body, contentType, options);
    const text = await response.text();
    if (response.status !== 200) {
      const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
      throw wireError(isJson ? (JSON.parse(text) as JsonValue) : undefined, response);
    }
    return { json: JSON.parse(text) as JsonValue, headers: response.headers };
  }

  return {
    async unary(operation, request, options) {
      const { json, headers } = await unaryJson(
        operation,
        JSON.stringify(request),
        "application/json",
        options,
      );
      return { message: answerMessage(methodOf(operation).output, json) as never, json, headers };
    },

    async stream(operation, request, options) {
      const controller = new AbortController();
      options.signal?.addEventListener("abort", () => controller.abort());
      const body = envelope(JSON.stringify(request));
      const response = await post(operation, body, "application/connect+json", {
        ...options,
        signal: controller.signal,
      });
      if (response.status !== 200) throw wireError(undefined, response);
      const frames = readFrames(response);
      const next = await primed(async () => {
        const item = await frames.next();
        if (item.done === true) throw new Error("the stream ended without its last frame");
        const { flags, text } = item.value;
        const json = JSON.parse(text) as JsonObject;
        if (flags !== 2) return answerMessage(StreamResponseSchema, json);
        if (json.error !== undefined) {
          throw wireError(json.error, response, { trailers: trailersOf(json.metadata) });
        }
        return undefined;
      });
      return { next, close: () => controller.abort(), headers: response.headers };
    },

    async malformed(kind: Malformed, options) {
      if (kind === "unknown-method") return unaryJson("NoSuchMethod", "{}", "application/json", options);
      if (kind === "content-type") return unaryJson("GetTask", "{}", "text/csv", options);
      return unaryJson("GetTask", '{"id": ', "application/json", options);
    },

    sizeOf: (_operation: Operation, request) => Buffer.byteLength(JSON.stringify(request)),

    checkError(seen, kind, options) {
      const { grpc } = checkErrorInfo(seen, kind, options);
      expect(seen.wire.status, `${kind}: ${seen.message}`).toBe(spelled(grpc));
      if (seen.wire.http !== undefined) {
        // A path that is no method may be told by HTTP alone; clients read 404 as unimplemented.
        expect(seen.wire.http).toBe(options.bare && kind === "MethodNotFound" ? 404 : HTTP_OF[grpc]);
        expect(seen.wire.contentType).toMatch(/^application\/json\b/);
      }
      checkChallenge(seen, kind);
    },

    async close() {},
  };
}

export const connectJsonDriver: DriverKind = {
  name: "connect-json",
  version: "1.0",
  features: new Set(["json", "json-answer", "empty-id", "list", "1.0-form", "error-data"]),
  connect,
};

function envelope(text: string): Uint8Array {
  const body = Buffer.from(text);
  const framed = Buffer.alloc(5 + body.length);
  framed.writeUInt32BE(body.length, 1);
  body.copy(framed, 5);
  return framed;
}

async function* readFrames(response: Response): AsyncGenerator<{ flags: number; text: string }> {
  let rest = Buffer.alloc(0);
  if (response.body === null) return;
  for await (const chunk of response.body) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5) {
      const size = rest.readUInt32BE(1);
      if (rest.length < 5 + size) break;
      yield { flags: rest[0] ?? 0, text: rest.subarray(5, 5 + size).toString() };
      rest = rest.subarray(5 + size);
    }
  }
}
