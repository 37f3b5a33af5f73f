/** Request headers: names in any case, one value each. */
export type EgressHeaders = Readonly<Record<string, string>>;

export type HeaderProblem = "name_malformed" | "name_reserved" | "value_character" | "value_too_long";

/** Bytes of one value that any receiver takes. */
const MAX_HEADER_VALUE = 8192;

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// RFC 9110 section 5.5. CR, LF and NUL would end the value and begin a header of the sender's choice.
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/** What frames and routes the request is the client's to set. */
const RESERVED: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** For registration and again before sending: undefined where the header may be sent. */
export function headerProblem(name: string, value: string): HeaderProblem | undefined {
  if (!TOKEN.test(name)) return "name_malformed";
  if (RESERVED.has(name.toLowerCase())) return "name_reserved";
  if (value.length > MAX_HEADER_VALUE) return "value_too_long";
  return VALUE.test(value) ? undefined : "value_character";
}
