import { create, createRegistry, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Any, anyPack, DurationSchema } from "@bufbuild/protobuf/wkt";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "../../gen/google/rpc/status_pb.js";
import { type BatonError, type ErrorTable, errorRow, GRPC_CODE } from "./errors.ts";

const registry = createRegistry(BadRequestSchema, ErrorInfoSchema, RetryInfoSchema);

/**
 * The machine-readable part of an error as `google.protobuf.Any`: ErrorInfo first, then BadRequest and RetryInfo
 * where there is something to say (A2A-148, A2A-153, A2A-156).
 */
function errorDetails(error: BatonError): Any[] {
  const row = errorRow(error.kind);
  const details: Any[] = [];
  if (row.reason !== undefined) {
    const info = create(ErrorInfoSchema, {
      reason: row.reason,
      domain: row.domain,
      metadata: { ...error.metadata },
    });
    details.push(anyPack(ErrorInfoSchema, info));
  }
  if (error.violations.length > 0) {
    const badRequest = create(BadRequestSchema, {
      fieldViolations: error.violations.map(({ field, description }) => ({ field, description })),
    });
    details.push(anyPack(BadRequestSchema, badRequest));
  }
  if (error.retryAfterMs !== undefined) {
    const ms = Math.max(0, Math.ceil(error.retryAfterMs));
    const retryDelay = create(DurationSchema, {
      seconds: BigInt(Math.floor(ms / 1000)),
      nanos: (ms % 1000) * 1_000_000,
    });
    details.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay })));
  }
  return details;
}

/** The same details as JSON, each element with its `@type` (A2A-12, A2A-154). */
export function errorDetailsJson(error: BatonError): JsonValue[] {
  return errorStatusJson(errorStatus(error));
}

function errorStatusJson(status: Status): JsonValue[] {
  const json = toJson(StatusSchema, status, { registry });
  const details =
    typeof json === "object" && json !== null && !Array.isArray(json) ? json.details : undefined;
  return Array.isArray(details) ? details : [];
}

/** What an error says in the metadata of gRPC and Connect besides its status (A2A-15). */
export function errorMetadata(error: BatonError): Record<string, string> {
  return {
    ...(error.retryAfterMs === undefined
      ? {}
      : { "retry-after": String(Math.max(1, Math.ceil(error.retryAfterMs / 1000))) }),
    ...(error.kind === "Unauthenticated" ? { "www-authenticate": "Bearer" } : {}),
  };
}

/** The whole error as `google.rpc.Status`, the content of `grpc-status-details-bin` (A2A-148). */
export function errorStatus(error: BatonError, edition: ErrorTable = "1.0.1"): Status {
  return create(StatusSchema, {
    code: GRPC_CODE[errorRow(error.kind, edition).grpc],
    message: error.message,
    details: errorDetails(error),
  });
}
