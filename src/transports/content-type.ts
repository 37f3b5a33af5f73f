import { BatonError } from "../domain/errors.ts";

/** The media type of the HTTP+JSON binding since A2A 1.0.1. */
const A2A_JSON = "application/a2a+json";
export const JSON_TYPE = "application/json";
export const EVENT_STREAM = "text/event-stream";

interface MediaType {
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * Refuses a body that is not plain UTF-8 JSON: another or no media type, another character set, a content encoding
 * (A2A-126). Both JSON types are accepted on both bindings. Throws ContentTypeNotSupported.
 */
export function requireJson(contentType: string | undefined, contentEncoding: string | undefined): void {
  const { name, parameters } = mediaType(contentType ?? "");
  const charset = parameters.get("charset")?.toLowerCase();
  const json = name === JSON_TYPE || name === A2A_JSON;
  const utf8 = charset === undefined || charset === "utf-8" || charset === "utf8";
  const encoding = contentEncoding?.trim().toLowerCase() ?? "";
  if (json && utf8 && (encoding === "" || encoding === "identity")) return;
  throw new BatonError(
    "ContentTypeNotSupported",
    `the body must be ${JSON_TYPE} or ${A2A_JSON}, in UTF-8 and without a content encoding`,
  );
}

/**
 * The type of an answer: `application/a2a+json` where the request names it, else `application/json`, which every client
 * can read (A2A-127). Whole media types are compared, never parts of text (FR-62).
 */
export function jsonTypeFor(accept: string | undefined, contentType: string | undefined): string {
  const accepted = (accept ?? "").split(",").map(mediaType);
  const asked = accepted.some(
    ({ name, parameters }) => name === A2A_JSON && Number(parameters.get("q") ?? 1) > 0,
  );
  return asked || mediaType(contentType ?? "").name === A2A_JSON ? A2A_JSON : JSON_TYPE;
}

const NO_PARAMETERS: MediaType["parameters"] = new Map();

function mediaType(text: string): MediaType {
  if (!text.includes(";")) return { name: text.trim().toLowerCase(), parameters: NO_PARAMETERS };
  const [name = "", ...rest] = text.split(";");
  const parameters = new Map<string, string>();
  for (const parameter of rest) {
    const [key = "", value = ""] = parameter.split("=");
    parameters.set(key.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, "$1"));
  }
  return { name: name.trim().toLowerCase(), parameters };
}
