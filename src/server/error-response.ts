import { constants } from "node:http2";
import { errorDetailsJson } from "../domain/error-details.ts";
import { type BatonError, errorRow } from "../domain/errors.ts";
import type { CallResponse } from "../transports/http-handler.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";

/** The error as the HTTP+JSON binding prints it (A2A-154), for requests that no transport took. */
export function errorBody(error: BatonError, status = errorRow(error.kind).http): string {
  const body = {
    code: status,
    status: errorRow(error.kind).grpc,
    message: error.message,
    details: errorDetailsJson(error),
  };
  return JSON.stringify({ error: body });
}

/** Answers with an error; destroys the response when it has begun, so that it cannot be taken for a whole one. */
export function sendError(
  response: CallResponse,
  error: BatonError,
  status = errorRow(error.kind).http,
): void {
  if (response.headersSent) {
    if ("stream" in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    // An answer that is sent at once has not begun without being whole.
    else if (!("send" in response)) response.destroy();
    return;
  }
  const body = errorBody(error, status);
  response.setHeader("content-type", "application/json");
  response.setHeader("content-length", String(Buffer.byteLength(body)));
  if ("send" in response) {
    response.send(status, [], body, "utf8");
    return;
  }
  response.statusCode = status;
  response.end(body);
}

const REASON: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  413: "Content Too Large",
  431: "Request Header Fields Too Large",
};

/** A whole HTTP/1.1 error response as text, for connections whose request never became one. */
export function rawErrorResponse(status: number, error: BatonError): string {
  const body = errorBody(error, status);
  const headers = {
    ...SECURITY_HEADERS,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${REASON[status] ?? "Error"}`, ...lines, "", body].join("\r\n");
}
