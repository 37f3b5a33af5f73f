import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

/** A request of either HTTP version: one port serves both. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

export type HttpResponse = ServerResponse | Http2ServerResponse;

/**
 * What a transport over HTTP is to the listener. It answers the request and resolves to true, or touches nothing and
 * gives false: the path is not its own. It never rejects for a fault of the request or of a handler; those are
 * answered. The listener has applied its limits and set the security headers before.
 */
export type HttpHandler = (request: HttpRequest, response: HttpResponse) => Promise<boolean> | false;
