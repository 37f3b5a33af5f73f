/** JSON-RPC 2.0 by plain `fetch`. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { type StreamResponse, StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { ErrorKind, ErrorRow } from "../../../src/domain/errors.ts";
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
import { answerMessage, type DetailParts, detailsFromJson } from "./messages.ts";
import { primed } from "./queue.ts";
import { readSse } from "./sse.ts";

/** What a version of the protocol puts into the envelope. */
export interface JsonRpcDialect {
  /** `A2A-Version` that its clients send; null for none. */
  readonly version: string | null;
  readonly unknownMethod: string;
  call(operation: Operation, request: JsonObject): { readonly method: string; readonly params?: JsonValue };
  answer(operation: UnaryOperation, result: JsonValue): Answer<UnaryOperation>;
  event(result: JsonValue): StreamResponse;
  /** Reads what an error says besides its code. */
  details(error: JsonObject): DetailParts;
  checkDetails(seen: SeenError, kind: ErrorKind, options: { readonly bare: boolean }): Required<ErrorRow>;
  /** The answer in JSON, for dialects whose JSON the table knows. */
  shown(result: JsonValue): { readonly json?: JsonValue };
}

let lastId = 0;

/** Checks the envelope of an answer (A2A-129) and takes the result out of it. */
function resultOf(
  body: JsonValue,
  id: JsonValue,
  response: Response,
  details: JsonRpcDialect["details"],
): JsonValue {
  const envelope = body as JsonObject;
  const members = Object.keys(envelope).sort().join();
  expect(envelope.jsonrpc).toBe("2.0");
  if (members === "id,jsonrpc,result") {
    expect(envelope.id).toBe(id);
    return envelope.result ?? null;
  }
  expect(members, "A2A-129 exactly one of result and error").toBe("error,id,jsonrpc");
  const error = envelope.error as JsonObject;
  const { code, message } = error;
  expect([id, null], "the id of the request, or null where it was not read").toContain(envelope.id);
  throw new WireError({
    ...details(error),
    message: String(message),
    wire: {
      http: response.status,
      jsonrpc: Number(code),
      contentType: response.headers.get("content-type") ?? "",
    },
    headers: response.headers,
  });
}

export async function connectJsonRpc(dialect: JsonRpcDialect, { url }: Target): Promise<Driver> {
  const address = ({ pathTenant }: CallOptions) =>
    pathTenant === undefined ? `${url}/` : `${url}/${encodeURIComponent(pathTenant)}`;
  const post = (body: string, options: CallOptions, accept: string, contentType = "application/json") =>
    fetch(withQuery(address(options), options), {
      method: "POST",
      headers: { accept, "content-type": contentType, ...callHeaders(options, dialect.version) },
      body,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });

  const take = (body: unknown, id: JsonValue, response: Response) =>
    resultOf(body as JsonValue, id, response, dialect.details);

  type Request = ReturnType<JsonRpcDialect["call"]>;

  const frame = (request: Request) => {
    lastId += 1;
    return { id: lastId, body: JSON.stringify({ jsonrpc: "2.0", id: lastId, ...request }) };
  };

  async function call(request: Request, options: CallOptions, contentType?: string) {
    const { id, body } = frame(request);
    const response = await post(body, options, "application/json", contentType);
    return { json: take(await response.json(), id, response), headers: response.headers };
  }

  return {
    async unary(operation, request, options) {
      const { json, headers } = await call(dialect.call(operation, request), options);
      return { message: dialect.answer(operation, json) as never, ...dialect.shown(json), headers };
    },

    async stream(operation, request, options) {
      const controller = new AbortController();
      options.signal?.addEventListener("abort", () => controller.abort());
      const { id, body } = frame(dialect.call(operation, request));
      const signal = controller.signal;
      const response = await post(body, { ...options, signal }, "text/event-stream");
      if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) {
        take(await response.json(), id, response);
        throw new Error("FR-37 a streaming method was answered with a plain result");
      }
      expect(response.status).toBe(200);
      if (response.body === null) throw new Error("a stream without a body");
      const frames = readSse(response.body);
      const next = await primed(async () => {
        const item = await frames.next();
        if (item.done === true) return undefined;
        return dialect.event(take(JSON.parse(item.value.data), id, response));
      });
      return { next, close: () => controller.abort(), headers: response.headers };
    },

    async malformed(kind, options) {
      if (kind === "unknown-method") return call({ method: dialect.unknownMethod, params: {} }, options);
      if (kind === "content-type") return call(dialect.call("GetTask", { id: "x" }), options, "text/csv");
      const response = await post('{"jsonrpc":"2.0","id":1,', options, "application/json");
      return take(await response.json(), null, response);
    },

    // The frame around the params counts too; the id keeps its number of digits from here to the call, or grows by one.
    sizeOf(operation, request) {
      const body = { jsonrpc: "2.0", id: lastId + 1, ...dialect.call(operation, request) };
      return Buffer.byteLength(JSON.stringify(body));
    },

    checkError(seen, kind, options) {
      const row = dialect.checkDetails(seen, kind, options);
      expect(seen.wire.jsonrpc, `${kind}: ${seen.message}`).toBe(row.jsonrpc);
      expect(seen.wire.http).toBe(row.jsonrpcHttp);
      if (seen.detailTypes.length > 0) {
        expect(seen.wire.contentType).toMatch(/^(application\/json|text\/event-stream)\b/);
      }
      checkChallenge(seen, kind);
    },

    async close() {},
  };
}

const DIALECT: JsonRpcDialect = {
  version: "1.0",
  unknownMethod: "NoSuchMethod",
  call: (operation, request) => ({ method: operation, params: request }),
  answer: (operation, result) => answerMessage(methodOf(operation).output, result) as Answer<UnaryOperation>,
  event: (result) => answerMessage(StreamResponseSchema, result),
  details: ({ data }) => detailsFromJson(data),
  checkDetails: checkErrorInfo,
  shown: (json) => ({ json }),
};

export const jsonRpcDriver: DriverKind = {
  name: "jsonrpc",
  version: "1.0",
  features: new Set([
    "json",
    "json-answer",
    "a2a-json",
    "path-tenant",
    "empty-id",
    "list",
    "1.0-form",
    "error-data",
  ]),
  connect: (target) => connectJsonRpc(DIALECT, target),
};
