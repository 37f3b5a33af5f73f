import { BatonError } from "../domain/errors.ts";

/** A request target, cut up but not decoded: what is percent-encoded is data and must not take part in matching. */
export interface Target {
  /**
   * Raw path segments. Empty ones at the start and one at the end are dropped, so that an interface URL works with and
   * without its trailing slash (A2A-123); an empty one elsewhere stays and matches nothing.
   */
  readonly segments: readonly string[];
  /** Parameters by decoded name, in order. A value that is not valid percent-encoded UTF-8 is undefined. */
  readonly query: ReadonlyMap<string, readonly (string | undefined)[]>;
}

const NO_QUERY: Target["query"] = new Map();

/** Reads the target of a request in origin form (`/a?b`) or absolute form (`http://host/a?b`). */
export function parseTarget(url: string): Target {
  if (url !== last.url) last = { url, target: readTarget(url) };
  return last.target;
}

/** Of one request every transport asks in turn. */
let last: { readonly url: string; readonly target: Target } = { url: "/", target: readTarget("/") };

function readTarget(url: string): Target {
  const origin = url.startsWith("/") ? url : url.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, "");
  const [beforeHash = ""] = origin.split("#", 1);
  const mark = beforeHash.indexOf("?");
  const path = mark < 0 ? beforeHash : beforeHash.slice(0, mark);
  const segments = path.split("/");
  while (segments[0] === "") segments.shift();
  if (segments.at(-1) === "") segments.pop();
  return { segments, query: parseQuery(mark < 0 ? "" : beforeHash.slice(mark + 1)) };
}

/** Decodes one raw segment, once (A2A-56). Throws InvalidRequest for a malformed escape. */
export function decodeSegment(raw: string): string {
  const decoded = decode(raw);
  if (decoded === undefined)
    throw new BatonError("InvalidRequest", "the path has a malformed percent-escape");
  return decoded;
}

function parseQuery(text: string): Target["query"] {
  if (text === "") return NO_QUERY;
  const query = new Map<string, (string | undefined)[]>();
  for (const pair of text.split("&")) {
    const [rawName = "", ...rest] = pair.split("=");
    const name = decode(rawName.replaceAll("+", " "));
    if (name === undefined || name === "") continue;
    const values = query.get(name) ?? [];
    values.push(decode(rest.join("=").replaceAll("+", " ")));
    query.set(name, values);
  }
  return query;
}

function decode(raw: string): string | undefined {
  try {
    return decodeURIComponent(raw);
  } catch {
    return undefined;
  }
}
