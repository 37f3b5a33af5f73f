import type { IncomingHttpHeaders } from "node:http";

/** The head of a request of the simple form. */
export interface Head {
  readonly method: string;
  /** In origin form, without a fragment. */
  readonly url: string;
  /** By name in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** Declared, in bytes. */
  readonly bodyBytes: number;
}

const REQUEST_LINE = /^(GET|POST|DELETE) (\/[A-Za-z0-9\-._~!$&'()*+,;=:@/?%]*) HTTP\/1\.1$/;
const FIELD_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e]*$/;
/** In one spelling only, of at most five digits. */
const LENGTH = /^(?:0|[1-9]\d{0,4})$/;
const MAX_FIELDS = 64;

/** Fields that say something of the connection, or of how the body comes. */
const FRAMING = ["transfer-encoding", "expect", "upgrade", "proxy-connection"];

/**
 * Reads the lines of a head, each with its line end. A stricter grammar than any server has (RFC 9112 without all that it
 * tolerates): every field once, nothing folded, nothing that frames the body but a plain length. Undefined for a head that
 * is not of it, which may yet be a good one.
 */
export function readHead(text: string): Head | undefined {
  const lineEnd = text.indexOf("\r\n");
  const line = REQUEST_LINE.exec(text.slice(0, lineEnd));
  const headers = line === null ? undefined : readFields(text, lineEnd + 2);
  if (line === null || headers === undefined || isUnusual(headers)) return undefined;
  const [, method = "", url = ""] = line;
  const length = headers["content-length"] ?? "0";
  // A body of another method has no meaning, and servers differ in what they do with it (RFC 9110, 9.3.1).
  if (!LENGTH.test(length) || (length !== "0" && method !== "POST")) return undefined;
  return { method, url, headers, bodyBytes: Number(length) };
}

function readFields(text: string, at: number): IncomingHttpHeaders | undefined {
  const headers: Record<string, string> = Object.create(null);
  let count = 0;
  for (let start = at; start < text.length; count += 1) {
    const stop = text.indexOf("\r\n", start);
    const line = text.slice(start, stop);
    if (count === MAX_FIELDS || !FIELD_LINE.test(line)) return undefined;
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    if (name in headers) return undefined;
    headers[name] = line.slice(colon + 1).trim();
    start = stop + 2;
  }
  return headers;
}

function isUnusual(headers: IncomingHttpHeaders): boolean {
  if (headers.host === undefined) return true;
  if (headers.connection !== undefined && headers.connection.toLowerCase() !== "keep-alive") return true;
  return FRAMING.some((name) => headers[name] !== undefined);
}
