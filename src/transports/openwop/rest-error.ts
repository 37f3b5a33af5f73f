import type { JsonValue } from "@bufbuild/protobuf";
import type { BatonError, ErrorKind } from "../../domain/errors.ts";
import { errorRow } from "../../domain/errors.ts";
import type { HttpRequest, HttpResponse } from "../http-handler.ts";
import { errorHeaders, publicError, respond } from "../respond.ts";

/** OpenWOP words for our errors (openwop.md 1.1); any other is `validation_error` or `internal_error`. */
const CODES: Partial<Record<ErrorKind, string>> = {
  Unauthenticated: "unauthenticated",
  Forbidden: "forbidden",
  TaskNotFound: "not_found",
  RouteNotFound: "not_found",
  RateLimited: "rate_limited",
  VersionNotSupported: "interop_version_unsupported",
  PushNotificationNotSupported: "capability_required",
};

/** Answers in the OpenWOP envelope. Only for paths that are OpenWOP's own, never on an A2A interface (OW-34). */
export function respondJson(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  body: JsonValue,
  headers: Iterable<readonly [string, string]> = [],
): void {
  respond(request, response, {
    status,
    headers,
    contentType: "application/json",
    body: JSON.stringify(body),
  });
}

export function respondError(
  request: HttpRequest,
  response: HttpResponse,
  thrown: unknown,
  requestId: string,
): void {
  const error: BatonError = publicError(thrown);
  const { http } = errorRow(error.kind);
  const code = CODES[error.kind] ?? (http >= 500 ? "internal_error" : "validation_error");
  const details = code === "capability_required" ? { requiredCapability: "a2a.pushNotifications" } : {};
  const body = { error: code, message: error.message, details };
  respondJson(request, response, http, body, errorHeaders(error, requestId));
}
