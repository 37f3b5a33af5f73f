import { createHash } from "node:crypto";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError } from "../domain/errors.ts";
import type { Forwarded } from "./forwarded.ts";
import type { HttpHandler, HttpRequest } from "./http-handler.ts";
import { cardJson, cardShape } from "./v03/card-json.ts";

export interface CardHandlerOptions {
  /**
   * The card of an agent; an empty name asks for the default agent's. `base`: where a trusted proxy says that the client
   * sees us. Undefined: no such agent.
   */
  cardOf(agent: string, base: string | undefined): AgentCard | undefined;
  /** Reads what proxies say; absent: they are not believed. */
  readonly forwarded?: Forwarded;
  /** How long a card may be kept, in seconds (A2A-179). Default 60. */
  readonly maxAgeSeconds?: number;
}

const PATH = /^(?:\/([^/]+))?\/\.well-known\/agent-card\.json$/;

/**
 * Serves `/.well-known/agent-card.json` and `/{tenant}/.well-known/agent-card.json` to anybody, with validators and to
 * browsers of any origin (A2A-177, A2A-179 to A2A-182). The shape follows `A2A-Version` (a2a.md 5.2).
 */
export function createCardHandler(options: CardHandlerOptions): HttpHandler {
  const maxAge = options.maxAgeSeconds ?? 60;
  const names = ["host", "proto", "prefix"].map((name) => `X-Forwarded-${name}`);
  const vary = ["A2A-Version", ...(options.forwarded === undefined ? [] : names)].join(", ");
  return async (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const match = PATH.exec(path);
    if (match === null) return false;
    const card = options.cardOf(decodeName(match[1] ?? ""), options.forwarded?.base(request));
    if (card === undefined) throw new BatonError("RouteNotFound", "no such agent");
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      throw new BatonError("MethodNotAllowed", "a card is read with GET");
    }
    const body = JSON.stringify(cardJson(card, cardShape(askedVersion(request))));
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    response.setHeader("cache-control", `public, max-age=${maxAge}`);
    response.setHeader("etag", etag);
    response.setHeader("vary", vary);
    response.setHeader("access-control-allow-origin", "*");
    if (matches(request.headers["if-none-match"], etag)) {
      response.statusCode = 304;
      response.end();
      return true;
    }
    response.statusCode = 200;
    response.setHeader("content-type", "application/json");
    response.setHeader("content-length", String(Buffer.byteLength(body)));
    if (request.method === "HEAD") response.end();
    else response.end(body);
    return true;
  };
}

/** Header before query; blank counts as absent (A2A-18). */
function askedVersion(request: HttpRequest): string | undefined {
  const header = request.headers["a2a-version"];
  const query = (request.url ?? "").split("?", 2)[1] ?? "";
  return header?.toString().trim() || (new URLSearchParams(query).get("A2A-Version") ?? undefined);
}

function decodeName(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new BatonError("RouteNotFound", "no such agent");
  }
}

/** A list of tags or `*`, compared weakly (A2A-180). */
function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((tag) => {
    const bare = tag.trim();
    return bare === "*" || bare.replace(/^W\//, "") === etag;
  });
}
