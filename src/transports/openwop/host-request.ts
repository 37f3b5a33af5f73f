import type { JsonValue } from "@bufbuild/protobuf";
import { BatonError } from "../../domain/errors.ts";
import { idempotencyKey, soundTrace } from "../../domain/openwop/run-input.ts";
import type { HttpRequest } from "../http-handler.ts";

const REQUEST_HEADERS = [
  "accept",
  "content-type",
  "if-none-match",
  "last-event-id",
  "openwop-dedup",
  "openwop-version",
  "x-dedup",
];

/**
 * The headers of a passed-through request: Baton's credential, and of the caller's only those that say how to answer
 * (OW-59). Callers may share a credential at the host, so their idempotency keys are kept apart.
 */
export function hostHeaders(
  request: HttpRequest,
  by: { readonly token: string; readonly agent: string; readonly callerId: string },
): Record<string, string> {
  const given = request.headers;
  const headers: Record<string, string> = {
    ...soundTrace(given.traceparent, given.tracestate),
    authorization: `Bearer ${by.token}`,
  };
  for (const name of REQUEST_HEADERS) {
    const value = given[name];
    if (typeof value === "string") headers[name] = value;
  }
  const key = given["idempotency-key"];
  if (typeof key === "string")
    headers["idempotency-key"] = idempotencyKey(by.agent, by.callerId, key, "proxy");
  return headers;
}

/** Sends a request to the host; follows no redirect. Throws Unavailable where no answer comes. */
export async function fetchHost(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: "manual" });
  } catch (cause) {
    throw new BatonError("Unavailable", "the host does not answer", { cause });
  }
}

const WORD = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
/** Details that are words of the protocol, and no text. */
const DETAILS = ["requiredCapability", "runStatus", "supported"];

/** The envelope of a host's refusal without the host's own text: its code, and what in its details is a word (OW-35). */
export function refusal(status: number, body: unknown): JsonValue {
  const { error, details } = fields(body);
  const code = isWord(error) ? error : status >= 500 ? "internal_error" : "validation_error";
  const kept: Record<string, JsonValue> = {};
  for (const name of DETAILS) {
    const value = fields(details)[name];
    if (isWord(value)) kept[name] = value;
    else if (Array.isArray(value) && value.every(isWord)) kept[name] = value;
  }
  return { error: code, message: "the host refused the request", details: kept };
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && WORD.test(value);
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
