import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Socket } from "node:net";

/** A request of either HTTP version: one port serves both. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

export type HttpResponse = ServerResponse | Http2ServerResponse;

/**
 * What a transport over HTTP is to the listener. It answers the request and resolves to true, or touches nothing and
 * gives false: the path is not its own. It never rejects for a fault of the request or of a handler; those are
 * answered. The listener has applied its limits and set the security headers before.
 */
export type HttpHandler = (request: HttpRequest, response: HttpResponse) => Promise<boolean> | false;

/** A request that was read whole without Node's HTTP: of a simple form, and with all of its body. */
export interface LeanRequest {
  readonly method: string;
  /** In origin form: `/a?b`. */
  readonly url: string;
  /** By name in lower case; each was there once. */
  readonly headers: IncomingHttpHeaders;
  readonly socket: Socket;
  /** Empty where there is none. */
  readonly body: string;
}

/** Where the one answer to a {@link LeanRequest} goes, whole. */
export interface LeanResponse {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  /** The client is gone, or has its answer. */
  readonly destroyed: boolean;
  getHeader(name: string): string | undefined;
  /** Adds a header to the answer to come. */
  setHeader(name: string, value: string): void;
  /** When the answer is out, or the client gone. */
  on(event: "close", listener: () => void): void;
  /** Names and values in turn. Throws as `writeHead` does for a header that no answer can have. */
  send(status: number, head: readonly string[], body: string, encoding: "latin1" | "utf8"): void;
}

/** A request as handlers of calls see it, however it was read. */
export type CallRequest = HttpRequest | LeanRequest;

export type CallResponse = HttpResponse | LeanResponse;

/** An {@link HttpHandler} of requests that were read either way. */
export type CallHandler = (request: CallRequest, response: CallResponse) => Promise<boolean> | false;

/** One that knows which requests have one answer, which is what a {@link LeanResponse} takes. */
export interface UnaryAwareHandler extends CallHandler {
  /** Whether the handler would give one answer, whole; undefined: the path is not its own. Touches nothing. */
  isUnary(request: LeanRequest): boolean | undefined;
}
