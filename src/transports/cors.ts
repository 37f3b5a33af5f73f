/**
 * Cross-origin access for browsers, on every binding at once: a page calls with `fetch` or with the Connect and gRPC-Web
 * clients of connect-web, without a proxy in between (A10). Credentials are bearer tokens in a header that the page sets,
 * never cookies, so no permission for credentials is given.
 */
import { cors as connectCors } from "@connectrpc/connect";
import type { CallHandler, CallRequest, CallResponse } from "./http-handler.ts";
import { respond } from "./respond.ts";

export interface CorsOptions {
  /** `*`, or origins such as `https://app.example`. */
  readonly origins: readonly string[];
  /** How long a browser may keep the answer to a preflight, in seconds. */
  readonly maxAgeSeconds: number;
}

const METHODS = [...new Set([...connectCors.allowedMethods, "DELETE", "HEAD"])];

const REQUEST_HEADERS = [
  ...new Set([
    ...connectCors.allowedHeaders.map((name) => name.toLowerCase()),
    "accept",
    "authorization",
    "content-type",
    "a2a-version",
    "a2a-extensions",
    "x-a2a-extensions",
    "a2a-last-event-id",
    "last-event-id",
    "if-none-match",
    "mcp-protocol-version",
    "mcp-session-id",
    "traceparent",
    "tracestate",
  ]),
].join(", ");

const RESPONSE_HEADERS = [
  ...new Set([
    ...connectCors.exposedHeaders.map((name) => name.toLowerCase()),
    "a2a-extensions",
    "x-a2a-extensions",
    "a2a-last-event-id",
    "a2a-stream-resume",
    "etag",
    "mcp-session-id",
    "retry-after",
    "www-authenticate",
    "x-request-id",
  ]),
].join(", ");

/** Answers preflights, and adds the permission to what the handlers after it answer. */
export function createCorsHandler(options: CorsOptions): CallHandler {
  const all = options.origins.includes("*");
  const allowed = new Set(options.origins.map((origin) => origin.toLowerCase()));
  return (request, response) => {
    // The answer differs by origin, also for those that get no permission, so caches must know.
    if (!all) addVary(response, "origin");
    const { origin } = request.headers;
    if (origin === undefined || !(all || allowed.has(origin.toLowerCase()))) return false;
    response.setHeader("access-control-allow-origin", all ? "*" : origin);
    if (!isPreflight(request)) {
      response.setHeader("access-control-expose-headers", RESPONSE_HEADERS);
      return false;
    }
    respond(request, response, {
      status: 204,
      headers: [
        ["access-control-allow-methods", METHODS.join(", ")],
        ["access-control-allow-headers", REQUEST_HEADERS],
        ["access-control-max-age", String(options.maxAgeSeconds)],
      ],
    });
    return TAKEN;
  };
}

const TAKEN = Promise.resolve(true);

function isPreflight(request: CallRequest): boolean {
  return request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined;
}

function addVary(response: CallResponse, name: string): void {
  const present = response.getHeader("vary");
  response.setHeader("vary", present === undefined ? name : `${String(present)}, ${name}`);
}
