import { toBinary } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { ConnectError, type HandlerContext } from "@connectrpc/connect";
import { type Status, StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import type { Caller } from "../../domain/caller.ts";
import { errorMetadata, errorStatus } from "../../domain/error-details.ts";
import { BatonError, errorRow } from "../../domain/errors.ts";
import type { RpcError } from "../../service/answer.ts";
import type { Dispatcher } from "../../service/dispatcher.ts";
import { encodeMessage } from "../grpc/message-text.ts";
import type { HttpResponse } from "../http-handler.ts";
import { abortError } from "./abort.ts";
import type { ConnectHandlerOptions } from "./options.ts";
import type { Wire } from "./wire.ts";

/** Flags of the last frame of a Connect stream. */
const END_STREAM = 0b10;

/**
 * The error as connect-es prints it: the same code, message and details in the trailers of gRPC
 * (`grpc-status-details-bin`, A2A-148), the trailer frame of gRPC-Web and the JSON of Connect.
 */
export function toConnectError(error: BatonError): ConnectError {
  return connectErrorOf(plainRpcError(error), error.cause);
}

function connectErrorOf({ status, metadata }: RpcError, cause: unknown): ConnectError {
  const { code, message } = status;
  const connectError = new ConnectError(message.toWellFormed(), code, { ...metadata }, undefined, cause);
  connectError.details = status.details.map(({ typeUrl, value }) => ({ type: typeName(typeUrl), value }));
  return connectError;
}

/** An error of a request whose caller, and so whose edition of the error table, is unknown. */
function plainRpcError(error: BatonError): RpcError {
  return { status: errorStatus(error), metadata: errorMetadata(error) };
}

/** Answers a request that reaches no method, in the form that its sender understands. */
export function writeError(
  response: HttpResponse,
  wire: Wire,
  error: BatonError,
  dispatcher: Dispatcher,
): void {
  const { status, metadata } = dispatcher.rpcError(error, undefined);
  const headers: Record<string, string> = { ...metadata };
  if (wire.protocol !== "connect") {
    // Trailers-only: with no message to precede them, the trailers are the headers.
    headers["content-type"] = `application/${wire.protocol}+${wire.json ? "json" : "proto"}`;
    headers["grpc-status"] = String(status.code);
    headers["grpc-message"] = encodeMessage(error.message);
    headers["grpc-status-details-bin"] = base64Encode(toBinary(StatusSchema, status), "std_raw");
    end(response, 200, headers);
  } else if (wire.enveloped) {
    headers["content-type"] = `application/connect+${wire.json ? "json" : "proto"}`;
    end(response, 200, headers, envelope(END_STREAM, JSON.stringify({ error: connectJson(error, status) })));
  } else {
    headers["content-type"] = "application/json";
    const row = errorRow(error.kind);
    end(response, row.http, headers, Buffer.from(JSON.stringify(connectJson(error, status))));
  }
}

/**
 * Refuses a request that is no call of any protocol, by HTTP status and a sentence. No JSON: clients of Connect would take
 * it for the answer to a call, and clients of gRPC for nothing.
 */
export function writeHttpError(response: HttpResponse, status: number, error: BatonError): void {
  const headers = { ...errorMetadata(error), "content-type": "text/plain; charset=utf-8" };
  end(response, status, headers, Buffer.from(`${text(error)}\n`));
}

function connectJson(error: BatonError, { details }: Status) {
  const name = errorRow(error.kind).grpc;
  return {
    code: name === "CANCELLED" ? "canceled" : name.toLowerCase(),
    message: text(error),
    details: details.map(({ typeUrl, value }) => ({
      type: typeName(typeUrl),
      value: base64Encode(value, "std_raw"),
    })),
  };
}

function typeName(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
}

/** Lone surrogates, which a message may echo from a request, cannot be percent-encoded. */
function text(error: BatonError): string {
  return error.message.toWellFormed();
}

function envelope(flags: number, data: string): Buffer {
  const body = Buffer.from(data);
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

function end(
  response: HttpResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array = new Uint8Array(0),
): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader("content-length", String(body.length));
  // Without a body the head ends the stream: only then do gRPC clients read the status in it as trailers.
  if (body.length === 0) response.end();
  // The two response types agree on this overload, but not as a union.
  else (response as { end(chunk: Uint8Array): unknown }).end(body);
}

/** Turns what a handler threw into the error to send; a fault of ours is logged with its cause. */
export function failure(
  thrown: unknown,
  context: HandlerContext,
  options: ConnectHandlerOptions,
  known: { readonly caller?: Caller | undefined; readonly requestId?: string | undefined },
): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  let error = BatonError.from(thrown);
  // What a handler throws because its signal fired is told by the reason of the signal.
  if (context.signal.aborted && error.kind === "Canceled") error = abortError(context.signal);
  if (error.kind === "Internal" && error.cause !== undefined) {
    const { service, method } = context;
    options.log?.error(
      { err: error.cause, service: service.typeName, method: method.name },
      "a handler failed",
    );
  }
  const answer = connectErrorOf(options.dispatcher.rpcError(error, known.caller), error.cause);
  if (known.requestId !== undefined) answer.metadata.set("x-request-id", known.requestId);
  return answer;
}

export function copyHeaders(from: Iterable<readonly [string, string]>, to: Headers): void {
  for (const [name, value] of from) to.set(name, value);
}
