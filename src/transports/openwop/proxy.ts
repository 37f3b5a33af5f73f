import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import type { Caller } from "../../domain/caller.ts";
import { BatonError, taskNotFound } from "../../domain/errors.ts";
import type { Dispatcher } from "../../service/dispatcher.ts";
import { readBody } from "../body.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "../http-handler.ts";
import { requestMeta } from "../request-meta.ts";
import { parseTarget } from "../target.ts";
import { decodeId } from "./read-seam.ts";
import { respondError, respondJson } from "./rest-error.ts";

export interface ProxyOptions {
  readonly dispatcher: Dispatcher;
  /** Base address of the host that is passed through to. */
  readonly hostUrl: string;
  /** Baton's own credential for the host, for this caller. The caller's own never leaves Baton (OW-59). */
  tokenOf(caller: Caller): string;
  /** False for a run whose task belongs to somebody else. */
  maySee(caller: Caller, runId: string): Promise<boolean>;
  /** The `a2a` block of the agent that is fronted, for a discovery document of that major. */
  blockOf(major: 1 | 2): Record<string, unknown>;
  readonly maxBodyBytes: number;
}

const DISCOVERY = "/.well-known/openwop";
const RUNS = /^(?:\/v1)?\/(?:runs|workflows)(?:\/[^?]*)?$/;
const RUN_ID = /^(?:\/v1)?\/runs\/([^/:]+)/;

const REQUEST_HEADERS = [
  "accept",
  "content-type",
  "idempotency-key",
  "if-none-match",
  "last-event-id",
  "openwop-dedup",
  "openwop-version",
  "traceparent",
  "tracestate",
  "x-dedup",
];
const RESPONSE_HEADERS = [
  "cache-control",
  "content-type",
  "etag",
  "openwop-idempotent-replay",
  "openwop-version",
  "retry-after",
];

/**
 * Passes discovery and run routes through to the host, so that Baton can stand before it under one address: with the
 * `a2a` block added to discovery, and Baton's credential in place of the caller's. Off unless configured.
 */
export function createProxyHandler(options: ProxyOptions): HttpHandler {
  return async (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    if (path !== DISCOVERY && !RUNS.test(path)) return false;
    const target = parseTarget(request.url ?? "/");
    const meta = requestMeta(request, response, { transport: "rest", form: "1.0", target });
    try {
      if (path === DISCOVERY) await discover(options, request, response);
      else {
        const caller = await options.dispatcher.authenticate(meta);
        const runId = RUN_ID.exec(path)?.[1];
        const id = runId === undefined ? "" : decodeId(runId);
        if (runId !== undefined && !(await options.maySee(caller, id))) throw taskNotFound(id);
        const body = hasBody(request) ? await readBody(request, options.maxBodyBytes) : undefined;
        await pass(options, request, response, options.tokenOf(caller), body, meta.signal);
      }
    } catch (error) {
      if (response.headersSent) response.destroy();
      else respondError(request, response, error, meta.requestId);
    }
    return true;
  };
}

async function discover(options: ProxyOptions, request: HttpRequest, response: HttpResponse): Promise<void> {
  const version = request.headers["openwop-version"];
  const answer = await fetchHost(options, DISCOVERY, {
    headers: version === undefined ? {} : { "openwop-version": String(version) },
  });
  const document: unknown = await answer.json().catch(() => undefined);
  if (!answer.ok || typeof document !== "object" || document === null) {
    throw new BatonError("Unavailable", "the host does not answer");
  }
  const shown = String((document as { protocolVersion?: unknown }).protocolVersion ?? version ?? "");
  const major = shown.startsWith("2") ? 2 : 1;
  const merged = { ...document, a2a: options.blockOf(major) };
  respondJson(request, response, 200, JSON.parse(JSON.stringify(merged)));
}

async function pass(
  options: ProxyOptions,
  request: HttpRequest,
  response: HttpResponse,
  token: string,
  body: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  for (const name of REQUEST_HEADERS) {
    const value = request.headers[name];
    if (typeof value === "string") headers[name] = value;
  }
  const answer = await fetchHost(options, request.url ?? "/", {
    method: request.method ?? "GET",
    headers,
    signal,
    ...(body === undefined ? {} : { body }),
  });
  response.statusCode = answer.status;
  for (const name of RESPONSE_HEADERS) {
    const value = answer.headers.get(name);
    if (value !== null) response.setHeader(name, value);
  }
  if (answer.body === null) response.end();
  // The web stream of fetch and the one of node:stream/web are one at run time.
  else await pipeline(Readable.fromWeb(answer.body as ReadableStream), response as NodeJS.WritableStream);
}

async function fetchHost(options: ProxyOptions, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(`${options.hostUrl}${path}`, { ...init, redirect: "manual" });
  } catch (cause) {
    throw new BatonError("Unavailable", "the host does not answer", { cause });
  }
}

function hasBody(request: HttpRequest): boolean {
  return request.method !== "GET" && request.method !== "HEAD";
}
