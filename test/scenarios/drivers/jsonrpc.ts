/** JSON-RPC 2.0 by plain `fetch`. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import {
  type CallOptions,
  type Driver,
  type DriverKind,
  methodOf,
  type Target,
  WireError,
} from "../driver.ts";
import { checkChallenge, checkErrorInfo } from "./check-error.ts";
import { callHeaders, withQuery } from "./headers.ts";
import { answerMessage, detailsFromJson } from "./messages.ts";
import { primed } from "./queue.ts";
import { readSse } from "./sse.ts";

let lastId = 0;

/** Checks the envelope of an answer (A2A-129) and takes the result out of it. */
function resultOf(body: JsonValue, id: JsonValue, response: Response): JsonValue {
  const envelope = body as JsonObject;
  const members = Object.keys(envelope).sort().join();
  expect(envelope.jsonrpc).toBe("2.0");
  if (members === "id,jsonrpc,result") {
    expect(envelope.id).toBe(id);
    return envelope.result ?? null;
  }
  expect(members, "A2A-129 exactly one of result and error").toBe("error,id,jsonrpc");
  const { code, message, data } = envelope.error as JsonObject;
  expect([id, null], "the id of the request, or null where it was not read").toContain(envelope.id);
  throw new WireError({
    ...detailsFromJson(data),
    message: String(message),
    wire: {
      http: response.status,
      jsonrpc: Number(code),
      contentType: response.headers.get("content-type") ?? "",
    },
    headers: response.headers,
  });
}

async function connect({ url }: Target): Promise<Driver> {
  const address = ({ pathTenant }: CallOptions) =>
    pathTenant === undefined ? `${url}/` : `${url}/${encodeURIComponent(pathTenant)}`;
  const post = (body: string, options: CallOptions, accept: string, contentType = "application/json") =>
    fetch(withQuery(address(options), options), {
      method: "POST",
      headers: { accept, "content-type": contentType, ...callHeaders(options, "1.0") },
      body,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });

  const frame = (method: string, params: JsonValue) => {
    lastId += 1;
    return { id: lastId, body: JSON.stringify({ jsonrpc: "2.0", id: lastId, method, params }) };
  };

  async function call(method: string, params: JsonValue, options: CallOptions, contentType?: string) {
    const { id, body } = frame(method, params);
    const response = await post(body, options, "application/json", contentType);
    return { json: resultOf((await response.json()) as JsonValue, id, response), headers: response.headers };
  }

  return {
    async unary(operation, request, options) {
      const { json, headers } = await call(operation, request, options);
      return { message: answerMessage(methodOf(operation).output, json) as never, json, headers };
    },

    async stream(operation, request, options) {
      const controller = new AbortController();
      options.signal?.addEventListener("abort", () => controller.abort());
      const { id, body } = frame(operation, request);
      const signal = controller.signal;
      const response = await post(body, { ...options, signal }, "text/event-stream");
      if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) {
        resultOf((await response.json()) as JsonValue, id, response);
        throw new Error("FR-37 a streaming method was answered with a plain result");
      }
      expect(response.status).toBe(200);
      if (response.body === null) throw new Error("a stream without a body");
      const frames = readSse(response.body);
      const next = await primed(async () => {
        const item = await frames.next();
        if (item.done === true) return undefined;
        const result = resultOf(JSON.parse(item.value.data) as JsonValue, id, response);
        return answerMessage(StreamResponseSchema, result);
      });
      return { next, close: () => controller.abort(), headers: response.headers };
    },

    async malformed(kind, options) {
      if (kind === "unknown-method") return call("NoSuchMethod", {}, options);
      if (kind === "content-type") return call("GetTask", { id: "x" }, options, "text/csv");
      const response = await post('{"jsonrpc":"2.0","id":1,', options, "application/json");
      return resultOf((await response.json()) as JsonValue, null, response);
    },

    // The frame around the params counts too; the id keeps its number of digits from here to the call, or grows by one.
    sizeOf(operation, request) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: lastId + 1, method: operation, params: request });
      return Buffer.byteLength(body);
    },

    checkError(seen, kind, options) {
      const row = checkErrorInfo(seen, kind, options);
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

export const jsonRpcDriver: DriverKind = {
  name: "jsonrpc",
  version: "1.0",
  features: new Set(["json", "json-answer", "a2a-json", "path-tenant", "empty-id", "list", "1.0-form"]),
  connect,
};
