import type { JsonObject } from "@bufbuild/protobuf";
import { type BatonError, type ErrorTable, errorRow, type FieldViolation } from "../../domain/errors.ts";
import type { RestError } from "../rest/errors.ts";

/** Turns the path of a 1.0 request into the path that the 0.3 client wrote. */
export type PathNames = (field: string) => string;

export const SAME_NAMES: PathNames = (field) => field;

/**
 * An error of 0.3: the codes of 1.0, without its typed details (A2A-172). `data` is free in 0.3; it holds what helps to
 * correct the request and is absent where there is nothing to say.
 */
export function legacyError(error: BatonError, names: PathNames = SAME_NAMES): JsonObject {
  const violations = error.violations.map((violation) => translated(violation, names));
  const [first] = violations;
  const data: JsonObject = {
    ...error.metadata,
    ...(violations.length === 0
      ? {}
      : { fieldViolations: violations.map(({ field, description }) => ({ field, description })) }),
  };
  return {
    code: errorRow(error.kind).jsonrpc,
    message: first === undefined ? error.message : `${first.field}: ${first.description}`,
    ...(Object.keys(data).length === 0 ? {} : { data }),
  };
}

/** HTTP status as in 1.0, and the bare error as the body: what the 0.3 SDKs agree on (a2a.md 3). */
export function legacyRestError(error: BatonError, edition: ErrorTable): RestError {
  return { status: errorRow(error.kind, edition).http, body: legacyError(error) };
}

function translated({ field, description }: FieldViolation, names: PathNames): FieldViolation {
  return { field: names(field), description: description.replace("ROLE_USER", "user") };
}
