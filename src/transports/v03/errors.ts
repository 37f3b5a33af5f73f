import type { JsonObject } from "@bufbuild/protobuf";
import { type BatonError, type ErrorTable, errorRow } from "../../domain/errors.ts";
import { type RestError, restError } from "../rest/errors.ts";

/** Turns the path of a 1.0 request into the path that the 0.3 client wrote. */
export type PathNames = (field: string) => string;

const SAME_NAMES: PathNames = (field) => field;

/**
 * An error of 0.3 on JSON-RPC: the codes of 1.0, without its typed details (A2A-172). `data` is free in 0.3, and so the Go
 * clients came to read it in two ways, an object once and an array later; neither finds the code where it is the other. So
 * there is none, and the message names the first field.
 */
export function legacyError(error: BatonError, names: PathNames = SAME_NAMES): JsonObject {
  const [first] = error.violations;
  return {
    code: errorRow(error.kind).jsonrpc,
    message:
      first === undefined
        ? error.message
        : `${names(first.field)}: ${first.description.replace("ROLE_USER", "user")}`,
  };
}

/** What helps to correct a request, on HTTP+JSON. */
function legacyData({ violations, metadata }: BatonError): { readonly data?: JsonObject } {
  const fieldViolations = violations.map(({ field, description }) => ({ field, description }));
  const data: JsonObject = { ...metadata, ...(fieldViolations.length === 0 ? {} : { fieldViolations }) };
  return Object.keys(data).length === 0 ? {} : { data };
}

/**
 * HTTP status as in 1.0, and the bare error as the body: what most 0.3 SDKs agree on (a2a.md 3). The Go client looks for the
 * envelope of 1.0 instead; its name does not clash, so both are there.
 */
export function legacyRestError(error: BatonError, edition: ErrorTable): RestError {
  const { status, body } = restError(error, edition);
  const bare = { code: errorRow(error.kind).jsonrpc, message: error.message };
  return { status, body: { ...bare, ...legacyData(error), ...body } };
}
