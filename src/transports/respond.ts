import { ServerResponse } from "node:http";
import { BatonError } from "../domain/errors.ts";
import type { CallRequest, CallResponse, HttpRequest, HttpResponse } from "./http-handler.ts";

/** How long and how much of a refused body is still taken in, so that its sender gets to read the refusal. */
const LINGER_MS = 2_000;
const LINGER_BYTES = 4 * 1024 * 1024;

/** One complete answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Iterable<readonly [string, string]>;
  /** Media type of the body; absent: there is no body. */
  readonly contentType?: string;
  readonly body?: string;
}

/** Sends an answer whole. Does nothing where the client is gone or an answer has begun. */
export function respond(request: CallRequest, response: CallResponse, answer: Answer): void {
  if (response.headersSent || response.destroyed) return;
  if ("send" in response) {
    const body = answer.body ?? "";
    const bytes = Buffer.byteLength(body);
    response.send(answer.status, headOf(answer, bytes), body, encodingOf(body, bytes));
    return;
  }
  // A request and its response are of one kind.
  respondByNode(request as HttpRequest, response, answer);
}

function respondByNode(request: HttpRequest, response: HttpResponse, answer: Answer): void {
  const body = answer.body ?? "";
  if (isPlain(request, response, answer)) {
    const bytes = Buffer.byteLength(body);
    response.writeHead(answer.status, headOf(answer, bytes));
    response.end(body, encodingOf(body, bytes));
    return;
  }
  for (const [name, value] of answer.headers) response.setHeader(name, value);
  if (answer.contentType !== undefined) response.setHeader("content-type", answer.contentType);
  if (answer.status !== 204) response.setHeader("content-length", String(Buffer.byteLength(body)));
  response.statusCode = answer.status;
  const unread = answer.status === 413 && !request.readableEnded;
  if (unread && request.httpVersionMajor === 1) {
    lingeringEnd(request, response, body);
    return;
  }
  if (request.method === "HEAD") response.end();
  else response.end(body);
}

/** The head at once: each header that is set for itself costs as much as all of them here. */
function headOf({ headers, contentType }: Answer, bytes: number): string[] {
  const head: string[] = [];
  for (const [name, value] of headers) head.push(name, value);
  if (contentType !== undefined) head.push("content-type", contentType);
  head.push("content-length", String(bytes));
  return head;
}

/** As many bytes as characters is ASCII, which goes out without being encoded. */
function encodingOf(body: string, bytes: number): "latin1" | "utf8" {
  return bytes === body.length ? "latin1" : "utf8";
}

/** An answer over HTTP/1.1 without anything special about it, and to which nobody has added headers. */
function isPlain(
  request: HttpRequest,
  response: HttpResponse,
  { status }: Answer,
): response is ServerResponse {
  const isUnread = status === 413 && !request.readableEnded;
  const ordinary = status !== 204 && !isUnread && request.method !== "HEAD";
  return ordinary && response instanceof ServerResponse && response.getHeaderNames().length === 0;
}

/**
 * Answers while the client may still be sending: the answer goes out, then what arrives is thrown away for a bounded
 * while, then the connection closes. Closing at once would reset it, and the client would see a network error in place
 * of the refusal.
 */
function lingeringEnd(request: HttpRequest, response: HttpResponse, body: string): void {
  response.setHeader("connection", "close");
  // The declared length makes the answer complete for the client although the response is still open here.
  // Both kinds of response take a string; the union of their signatures does not say so.
  (response as { write(chunk: string): boolean }).write(body);
  let left = LINGER_BYTES;
  const timer = setTimeout(end, LINGER_MS);
  function end(): void {
    clearTimeout(timer);
    request.off("data", onData);
    response.end();
  }
  function onData(chunk: Buffer): void {
    left -= chunk.length;
    if (left < 0) end();
  }
  request.on("data", onData);
  request.once("end", end);
  request.once("close", end);
  request.resume();
}

/** Headers that an error has on every HTTP binding: what to wait for, how to authenticate, what to quote. */
export function errorHeaders(error: BatonError, requestId: string): [string, string][] {
  const headers: [string, string][] = [["x-request-id", requestId]];
  if (error.retryAfterMs !== undefined) {
    headers.push(["retry-after", String(Math.max(1, Math.ceil(error.retryAfterMs / 1000)))]);
  }
  if (error.kind === "Unauthenticated") headers.push(["www-authenticate", 'Bearer realm="baton"']);
  return headers;
}

/**
 * The error as it may be shown. Why a credential was refused is nobody's business: every refusal reads the same,
 * whatever was wrong (SB-1, A2A-10).
 */
export function publicError(thrown: unknown): BatonError {
  const error = BatonError.from(thrown);
  return error.kind === "Unauthenticated"
    ? new BatonError("Unauthenticated", "a valid credential is required", { cause: error })
    : error;
}

/** Tells which methods a path has (405 and OPTIONS). */
export function allowHeader(methods: Iterable<string>): [string, string] {
  return ["allow", [...methods].join(", ")];
}
