import type { JsonObject } from "@bufbuild/protobuf";
import { errorDetailsJson } from "../../domain/error-details.ts";
import { type BatonError, type ErrorTable, errorRow } from "../../domain/errors.ts";

export interface RestError {
  /** HTTP status; equal to `error.code` of the body (A2A-155). */
  readonly status: number;
  readonly body: JsonObject;
}

/** The error as the JSON of google.rpc.Status, on its own or as an event of a stream (A2A-153, A2A-155). */
export function restError(error: BatonError, edition: ErrorTable): RestError {
  const { http, grpc } = errorRow(error.kind, edition);
  const details = errorDetailsJson(error);
  return { status: http, body: { error: { code: http, status: grpc, message: error.message, details } } };
}
