import type { JsonObject } from "@bufbuild/protobuf";
import { errorDetailsJson } from "../../domain/error-details.ts";
import { type BatonError, errorRow } from "../../domain/errors.ts";

/** The `error` member of a 1.0 answer; its `data` always holds the details (A2A-154). */
export function errorObject(error: BatonError): JsonObject {
  return {
    code: errorRow(error.kind).jsonrpc,
    message: error.message,
    data: errorDetailsJson(error),
  };
}

/** HTTP status of an error answer: 200 for every well-formed exchange (A2A-134). */
export function errorStatus(error: BatonError): number {
  return errorRow(error.kind).jsonrpcHttp;
}
