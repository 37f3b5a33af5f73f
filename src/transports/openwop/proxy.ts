import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import type { JsonValue } from "@bufbuild/protobuf";
import type { Caller } from "../../domain/caller.ts";
import { BatonError, taskNotFound } from "../../domain/errors.ts";
import { type MadeFork, readFork } from "../../domain/openwop/fork.ts";
import type { Dispatcher } from "../../service/dispatcher.ts";
import { readBody } from "../body.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "../http-handler.ts";
import { requestMeta } from "../request-meta.ts";
import { parseTarget } from "../target.ts";
import { fetchHost, hostHeaders, refusal } from "./host-request.ts";
import { isPlain, type ProxyRoute, proxyRoute } from "./proxy-route.ts";
import { respondError, respondJson } from "./rest-error.ts";

export interface ProxyOptions {
  readonly dispatcher: Dispatcher;
  /** The agent that is fronted; only its own endpoints are let through. */
  readonly agent: string;
  /** Base address of the host that is passed through to. */
  readonly hostUrl: string;
  /** Baton's own credential for the host, for this caller. The caller's own never leaves Baton (OW-59). */
  tokenOf(caller: Caller): string;
  /** False for a run whose task belongs to somebody else. */
  maySee(caller: Caller, runId: string): Promise<boolean>;
  /** Notes a fork that the host has made of a run, before the caller learns of it. A run that is no task is let be. */
  onFork(caller: Caller, sourceRunId: string, fork: MadeFork): Promise<void>;
  /** The `a2a` block of the agent that is fronted, for a discovery document of that major. */
  blockOf(major: 1 | 2): Record<string, unknown>;
  readonly maxBodyBytes: number;
}

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
 * `a2a` block added to discovery, Baton's credential in place of the caller's, and forks noted (OW-53). Off unless
 * configured.
 */
export function createProxyHandler(options: ProxyOptions): HttpHandler {
  return async (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const route = proxyRoute(path);
    if (route === undefined) return false;
    const target = parseTarget(request.url ?? "/");
    const meta = requestMeta(request, response, { transport: "rest", form: "1.0", target });
    try {
      if (route.kind === "discovery") await discover(options, request, response);
      else {
        const caller = await options.dispatcher.authenticate(meta);
        await admit(options, caller, path, route);
        await pass(options, { request, response, caller, route, signal: meta.signal });
      }
    } catch (error) {
      if (response.headersSent) response.destroy();
      else respondError(request, response, error, meta.requestId);
    }
    return true;
  };
}

async function admit(options: ProxyOptions, caller: Caller, path: string, route: ProxyRoute): Promise<void> {
  if (caller.agent !== options.agent) throw new BatonError("Forbidden", "the endpoint is of another agent");
  if (!isPlain(options.hostUrl, path, route)) throw new BatonError("RouteNotFound", "no such path");
  for (const id of route.runIds) if (!(await options.maySee(caller, id))) throw taskNotFound(id);
}

async function discover(options: ProxyOptions, request: HttpRequest, response: HttpResponse): Promise<void> {
  const version = request.headers["openwop-version"];
  const answer = await fetchHost(`${options.hostUrl}/.well-known/openwop`, {
    headers: version === undefined ? {} : { "openwop-version": String(version) },
  });
  const document = await jsonOf(answer);
  if (!answer.ok || typeof document !== "object" || document === null) {
    throw new BatonError("Unavailable", "the host does not answer");
  }
  const shown = String((document as { protocolVersion?: unknown }).protocolVersion ?? version ?? "");
  const major = shown.startsWith("2") ? 2 : 1;
  const merged = { ...document, a2a: options.blockOf(major) };
  respondJson(request, response, 200, JSON.parse(JSON.stringify(merged)));
}

interface Passed {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly caller: Caller;
  readonly route: ProxyRoute;
  readonly signal: AbortSignal;
}

async function pass(options: ProxyOptions, passed: Passed): Promise<void> {
  const { request, response, caller, route } = passed;
  const method = request.method ?? "GET";
  const hasBody = method !== "GET" && method !== "HEAD";
  const body = hasBody ? await readBody(request, options.maxBodyBytes) : undefined;
  const isFork = route.kind === "fork" && method === "POST";
  const token = options.tokenOf(caller);
  const answer = await fetchHost(`${options.hostUrl}${request.url ?? "/"}`, {
    method,
    headers: hostHeaders(request, { token, agent: options.agent, callerId: caller.id }),
    // What is about to be forked is noted even if the caller does not wait for it.
    ...(isFork ? {} : { signal: passed.signal }),
    ...(body === undefined ? {} : { body }),
  });
  for (const name of RESPONSE_HEADERS) {
    const value = answer.headers.get(name);
    if (value !== null) response.setHeader(name, value);
  }
  if (answer.status >= 300 && answer.status < 400 && answer.status !== 304)
    throw new BatonError("Unavailable", "the host does not answer");
  if (answer.status >= 400) {
    respondJson(request, response, answer.status, refusal(answer.status, await jsonOf(answer)));
  } else if (isFork) {
    const made = await jsonOf(answer);
    const fork = readFork(made, parse(body ?? ""));
    if (fork !== undefined) for (const id of new Set(route.runIds)) await options.onFork(caller, id, fork);
    respondJson(request, response, answer.status, (made ?? null) as JsonValue);
  } else if (route.kind === "list" && method === "GET") {
    respondJson(request, response, answer.status, await ownRuns(options, caller, await jsonOf(answer)));
  } else {
    response.statusCode = answer.status;
    if (answer.body === null) response.end();
    // The web stream of fetch and the one of node:stream/web are one at run time.
    else await pipeline(Readable.fromWeb(answer.body as ReadableStream), response as NodeJS.WritableStream);
  }
}

/** A page of the host's list without the runs whose tasks are somebody else's (OW-25). */
async function ownRuns(options: ProxyOptions, caller: Caller, page: unknown): Promise<JsonValue> {
  const { runs, ...rest } = (typeof page === "object" && page !== null ? page : {}) as { runs?: unknown };
  const listed = Array.isArray(runs) ? runs : [];
  const seen = await Promise.all(
    listed.map((run: { runId?: unknown } | null) => options.maySee(caller, String(run?.runId ?? ""))),
  );
  return { ...rest, runs: listed.filter((_run, index) => seen[index]) };
}

async function jsonOf(answer: Response): Promise<unknown> {
  return parse(await answer.text());
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
