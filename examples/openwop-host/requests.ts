import type { IncomingMessage } from "node:http";
import { HostError } from "./engine.ts";
import type { RouteName } from "./faults.ts";
import type { Major } from "./run.ts";

/** A request as the host understood it. */
export interface HostRequest {
  readonly major: Major;
  readonly method: string;
  readonly route: RouteName;
  /** Run, workflow and further ids, decoded. */
  readonly ids: readonly string[];
  readonly query: URLSearchParams;
}

const MAX_BODY = 1_000_000;

const ROUTES: readonly (readonly [method: string, pattern: RegExp, route: RouteName])[] = [
  ["POST", /^\/runs$/, "create"],
  ["GET", /^\/runs$/, "list"],
  ["GET", /^\/runs\/([^/]+)$/, "read"],
  ["GET", /^\/runs\/([^/]+)\/events$/, "events"],
  ["GET", /^\/runs\/([^/]+)\/events\/poll$/, "poll"],
  ["POST", /^\/runs\/([^/]+)(?:\/|:)cancel$/, "cancel"],
  ["POST", /^\/runs\/([^/]+):fork$/, "fork"],
  ["POST", /^\/runs\/([^/]+)\/interrupts\/([^/]+)$/, "resolve"],
  ["GET", /^\/runs\/([^/]+)\/artifacts\/([^/]+)$/, "artifact"],
  ["GET", /^\/workflows\/([^/]+)$/, "workflow"],
];

/** Reads method and path; throws 404 and 406. The path is split before it is decoded: a run id may hold a slash. */
export function parseRequest(request: IncomingMessage): HostRequest {
  const url = new URL(request.url ?? "/", "http://host");
  const method = request.method ?? "GET";
  const version = request.headers["openwop-version"];
  if (url.pathname === "/.well-known/openwop") {
    return { major: version === "2.0" ? 2 : 1, method, route: "discovery", ids: [], query: url.searchParams };
  }
  const isV1 = url.pathname.startsWith("/v1/");
  if (!isV1 && version !== "2.0") {
    throw new HostError(406, "protocol_version_unsupported", "unlisted version");
  }
  const path = isV1 ? url.pathname.slice(3) : url.pathname;
  for (const [verb, pattern, route] of ROUTES) {
    const match = verb === method ? pattern.exec(path) : null;
    if (match === null) continue;
    if (route === "list" && isV1) continue;
    return { major: isV1 ? 1 : 2, method, route, ids: match.slice(1).map(decodeId), query: url.searchParams };
  }
  throw new HostError(404, "not_found", "no such route");
}

/** `acme%2Fr-9f` and the projected form `acme~2Fr-9f` are one id. */
function decodeId(segment: string): string {
  const plain = decodeURIComponent(segment);
  if (plain.includes("/")) return plain;
  return plain.replace(/~([0-9A-F]{2})/g, (_whole, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

export async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_BODY) throw new HostError(413, "validation_error", "body too large");
    chunks.push(chunk as Buffer);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  if (text === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // Answered below, like a body of another shape.
  }
  throw new HostError(400, "validation_error", "not a JSON object");
}
