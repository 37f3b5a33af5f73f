import type { JsonObject } from "@bufbuild/protobuf";
import { BatonError } from "../domain/errors.ts";
import type { PublishedCard } from "../service/card-directory.ts";
import type { Forwarded } from "./forwarded.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "./http-handler.ts";
import { cardJson, cardShape } from "./v03/card-json.ts";

export interface CardHandlerOptions {
  /**
   * The card of an agent; an empty name asks for the default agent's. `base`: where a trusted proxy says that the client
   * sees us. Undefined: no such agent, or none that is shown.
   */
  cardOf(agent: string, base: string | undefined): Promise<PublishedCard | undefined>;
  /** Public halves of the keys that sign cards; empty where none do. */
  readonly keys: readonly JsonObject[];
  /** Reads what proxies say; absent: they are not believed. */
  readonly forwarded?: Forwarded;
  /** How long a card may be kept, in seconds (A2A-179). Default 60. */
  readonly maxAgeSeconds?: number;
}

const WELL_KNOWN = "/.well-known/";
const KEYS_PATH = "/.well-known/jwks.json";
const PATH = /^(?:\/([^/]+))?\/\.well-known\/agent-card\.json$/;

/**
 * Serves `/.well-known/agent-card.json` and `/{tenant}/.well-known/agent-card.json` to anybody, with validators and to
 * browsers of any origin (A2A-177, A2A-179 to A2A-182). The shape follows `A2A-Version` (a2a.md 5.2). Where cards are signed,
 * `/.well-known/jwks.json` has the keys to check them with.
 */
export function createCardHandler(options: CardHandlerOptions): HttpHandler {
  const maxAge = options.maxAgeSeconds ?? 60;
  const names = ["host", "proto", "prefix"].map((name) => `X-Forwarded-${name}`);
  const vary = ["A2A-Version", ...(options.forwarded === undefined ? [] : names)].join(", ");
  const serve = async (request: HttpRequest, response: HttpResponse): Promise<boolean> => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    if (path === KEYS_PATH && options.keys.length > 0) {
      requireRead(request, response);
      const body = JSON.stringify({ keys: options.keys });
      send(request, response, { body, etag: undefined, maxAge, type: "application/jwk-set+json" });
      return true;
    }
    const match = PATH.exec(path);
    if (match === null) return false;
    const published = await options.cardOf(decodeName(match[1] ?? ""), options.forwarded?.base(request));
    if (published === undefined) throw new BatonError("RouteNotFound", "no such agent");
    requireRead(request, response);
    const { card, digest, since } = published;
    const shape = cardShape(askedVersion(request));
    // Weak where it is signed: a signature differs from replica to replica, and what it covers does not.
    const etag = `${card.signatures.length > 0 ? "W/" : ""}"${digest}-${shape}"`;
    response.setHeader("vary", vary);
    response.setHeader("last-modified", new Date(since).toUTCString());
    const body = JSON.stringify(cardJson(card, shape));
    const isKnown = isUnchanged(request, etag, since);
    send(request, response, { body: isKnown ? undefined : body, etag, maxAge, type: "application/json" });
    return true;
  };
  return (request, response) => (request.url?.includes(WELL_KNOWN) ? serve(request, response) : false);
}

function requireRead(request: HttpRequest, response: HttpResponse): void {
  if (request.method === "GET" || request.method === "HEAD") return;
  response.setHeader("allow", "GET, HEAD");
  throw new BatonError("MethodNotAllowed", "this is read with GET");
}

/** Sends a document to anybody, or 304 without `body`. */
function send(
  request: HttpRequest,
  response: HttpResponse,
  answer: {
    readonly body: string | undefined;
    readonly etag: string | undefined;
    readonly maxAge: number;
    readonly type: string;
  },
): void {
  const { body, etag, maxAge, type } = answer;
  response.setHeader("cache-control", `public, max-age=${maxAge}`);
  response.setHeader("access-control-allow-origin", "*");
  if (etag !== undefined) response.setHeader("etag", etag);
  if (body === undefined) {
    response.statusCode = 304;
    response.end();
    return;
  }
  response.statusCode = 200;
  response.setHeader("content-type", type);
  response.setHeader("content-length", String(Buffer.byteLength(body)));
  if (request.method === "HEAD") response.end();
  else response.end(body);
}

/** The entity tag decides; the date only where no tag is sent (A2A-180, RFC 9110 section 13.2.2). */
function isUnchanged(request: HttpRequest, etag: string, since: number): boolean {
  const tags = request.headers["if-none-match"];
  if (tags !== undefined) return matches(tags, etag.replace(/^W\//, ""));
  const date = Date.parse(request.headers["if-modified-since"] ?? "");
  return !Number.isNaN(date) && Math.floor(since / 1000) * 1000 <= date;
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
