/**
 * The Model Context Protocol over Streamable HTTP, at `/mcp` and `/mcp/{agent}` (todo-delegation.md 4.1): credentials,
 * sessions and bounds. What tools do is in `tools/`, and they call what the other bindings call.
 */

import type { Caller } from "../../domain/caller.ts";
import { BatonError, type ErrorKind, errorRow } from "../../domain/errors.ts";
import type { Call } from "../../service/call.ts";
import { tracedBy } from "../../service/observed-call.ts";
import { readBody } from "../body.ts";
import { JSON_TYPE, requireJson } from "../content-type.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "../http-handler.ts";
import { MAX_JSON_DEPTH, parseJson } from "../json/read.ts";
import { errorEnvelope } from "../jsonrpc/envelope.ts";
import { NULL_ID } from "../jsonrpc/frame.ts";
import { type HttpMeta, requestMeta } from "../request-meta.ts";
import { allowHeader, errorHeaders, publicError, respond } from "../respond.ts";
import { decodeSegment, parseTarget } from "../target.ts";
import { sendStream, sendWhole, toFetchRequest } from "./bridge.ts";
import type { McpServices } from "./services.ts";
import { McpSession } from "./session.ts";
import { Sessions } from "./sessions.ts";

export interface McpOptions {
  readonly services: McpServices;
  /** Of this program, as clients are shown it. */
  readonly version: string;
  /** Base address of the gateway; its own pages may call. Known once the listener is. */
  publicUrl(): string;
  /** More origins whose pages may call; `*` for all. */
  readonly origins?: readonly string[];
  /** In bytes. */
  readonly maxBodyBytes?: number;
  /** A session without a request or an open stream for this long, in milliseconds, ends. */
  readonly idleMs?: number;
  /** A comment is sent on a notification stream this often, in milliseconds. */
  readonly keepAliveMs?: number;
  readonly onError?: (error: BatonError) => void;
}

/** Largest request, in bytes (todo-delegation.md 3.10). */
const MAX_BODY_BYTES = 1024 * 1024;
const IDLE_MS = 30 * 60_000;
const KEEP_ALIVE_MS = 15_000;
const METHODS = ["POST", "GET", "DELETE"];

export function createMcpHandler(options: McpOptions): HttpHandler {
  const door = new McpDoor(options);
  return (request, response) => {
    const target = parseTarget(request.url ?? "/");
    const [first, agent] = target.segments;
    if (first !== "mcp" || target.segments.length > 2) return false;
    const meta = requestMeta(request, response, { transport: "mcp", form: "1.0", target });
    return door.serve({ request, response, meta, agent }).then(() => true);
  };
}

interface Exchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly meta: HttpMeta;
  /** Raw path segment. */
  readonly agent: string | undefined;
}

class McpDoor {
  readonly #options: McpOptions;
  readonly #sessions = new Sessions();

  constructor(options: McpOptions) {
    this.#options = options;
  }

  async serve(exchange: Exchange): Promise<void> {
    try {
      this.#checkOrigin(exchange);
      const caller = await this.#options.services.authenticate(exchange.meta);
      this.#checkAgent(exchange, caller);
      await this.#dispatch(exchange, caller);
    } catch (thrown) {
      this.#refuse(exchange, thrown);
    }
  }

  /** Pages of other sites are refused, whatever name they reached this server under (DNS rebinding). */
  #checkOrigin({ meta }: Exchange): void {
    const origin = meta.header("origin");
    const { origins = [] } = this.#options;
    if (origin === undefined || origins.includes("*") || origins.includes(origin)) return;
    const own = this.#options.publicUrl();
    if (!URL.canParse(own) || new URL(own).origin !== origin) {
      throw new BatonError("Forbidden", "the origin may not call this server");
    }
  }

  /** A credential opens the door of its own agent only (SB-2). */
  #checkAgent({ agent }: Exchange, caller: Caller): void {
    if (agent === undefined) return;
    const name = decodeSegment(agent);
    if (!this.#options.services.hasAgent(name)) throw new BatonError("RouteNotFound", "no such agent");
    if (name !== caller.agent) throw new BatonError("Forbidden", "the credential does not match this agent");
  }

  async #dispatch(exchange: Exchange, caller: Caller): Promise<void> {
    const { request, meta } = exchange;
    if (request.method === "POST") {
      await this.#post(exchange, caller);
      return;
    }
    if (!METHODS.includes(request.method ?? "")) {
      throw new BatonError("MethodNotAllowed", "the method is not one of this path");
    }
    await this.#options.services.admit(caller, false);
    const session = this.#session(meta, caller);
    if (request.method === "GET") await this.#listen(exchange, session);
    else this.#delete(exchange, session);
  }

  async #post(exchange: Exchange, caller: Caller): Promise<void> {
    const { request, response, meta } = exchange;
    requireJson(meta.header("content-type"), meta.header("content-encoding"));
    const body = readRequest(await readBody(request, this.#options.maxBodyBytes ?? MAX_BODY_BYTES));
    await this.#options.services.admit(caller, creates(body));
    const call = callOf(meta, caller);
    const opens = body.method === "initialize" && meta.header("mcp-session-id") === undefined;
    const session = opens ? await this.#open(call) : this.#session(meta, caller);
    const answer = await session.post(toFetchRequest(request), body, call);
    if (opens && !answer.ok) session.end();
    await sendWhole(request, response, answer, [["x-request-id", meta.requestId]]);
  }

  async #open(call: Call): Promise<McpSession> {
    const { services, version, idleMs = IDLE_MS, keepAliveMs = KEEP_ALIVE_MS } = this.#options;
    const session = new McpSession(call, {
      services,
      version,
      idleMs,
      keepAliveMs,
      onEnd: (ended) => this.#sessions.remove(ended),
      onError: (error) => this.#options.onError?.(error),
    });
    this.#sessions.add(session);
    await session.open();
    return session;
  }

  async #listen({ request, response }: Exchange, session: McpSession): Promise<void> {
    const answer = await session.listen(toFetchRequest(request));
    if (answer.status !== 200) {
      await sendWhole(request, response, answer, []);
      return;
    }
    const { stream } = session;
    await sendStream(response, answer, {
      onTaken: () => session.taken(),
      onClosed: () => session.streamClosed(stream),
    });
  }

  #delete({ request, response, meta }: Exchange, session: McpSession): void {
    session.end();
    respond(request, response, { status: 200, headers: [["x-request-id", meta.requestId]] });
  }

  #session(meta: HttpMeta, caller: Caller): McpSession {
    const id = meta.header("mcp-session-id");
    if (id === undefined) throw new BatonError("InvalidRequest", "the Mcp-Session-Id header is required");
    const session = this.#sessions.find(id, caller);
    if (session === undefined) throw new BatonError("NotFound", "session not found");
    return session;
  }

  #refuse({ request, response, meta }: Exchange, thrown: unknown): void {
    const error = publicError(thrown);
    this.#options.onError?.(error);
    const headers = errorHeaders(error, meta.requestId);
    if (error.kind === "MethodNotAllowed") headers.push(allowHeader(METHODS));
    const { jsonrpc: code } = errorRow(error.kind);
    const body = errorEnvelope(NULL_ID, { code, message: error.message });
    respond(request, response, { status: statusOf(error.kind), headers, contentType: JSON_TYPE, body });
  }
}

/** The one A2A error that this binding shows by another status: here it is about the request itself. */
function statusOf(kind: ErrorKind): number {
  return kind === "ContentTypeNotSupported" ? 415 : errorRow(kind).http;
}

interface RpcBody {
  readonly method?: unknown;
  readonly params?: unknown;
}

/** One message. Lists of them left the protocol, and here would pass many calls as one request. */
function readRequest(text: string): RpcBody {
  const { value, scan } = parseJson(text);
  if (scan.depth > MAX_JSON_DEPTH) {
    throw new BatonError("InvalidRequest", `the body is nested more than ${MAX_JSON_DEPTH} levels deep`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new BatonError("InvalidRequest", "the body must be one JSON-RPC message");
  }
  return value;
}

/** Whether a message asks for a new todo, and is charged as a send (Q11, Q13). */
function creates({ method, params }: RpcBody): boolean {
  return method === "tools/call" && (params as { name?: unknown } | null | undefined)?.name === "create_for";
}

function callOf(meta: HttpMeta, caller: Caller): Call {
  const trace = tracedBy(meta);
  return {
    caller,
    agent: caller.agent,
    version: "1.0",
    transport: "mcp",
    extensions: [],
    signal: meta.signal,
    requestId: meta.requestId,
    responseHeaders: new Map(),
    ...(trace === undefined ? {} : { trace }),
  };
}
