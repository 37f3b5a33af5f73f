/** Errors of 0.3 in JSON: codes as in 1.0, no typed details, `data` with what helps to correct the request (A2A-172). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import type { ErrorKind, ErrorRow, FieldViolation } from "../../../src/domain/errors.ts";
import type { SeenError } from "../driver.ts";
import { checkErrorInfo } from "./check-error.ts";
import { type DetailParts, detailsFromJson, NO_DETAILS } from "./messages.ts";
import { isObject } from "./v03-json.ts";

/** Gives the field of a 0.3 request the name that it has in 1.0, which is what the table expects. */
export type NameIn1_0 = (field: string) => string;

function translated(names: NameIn1_0, found: DetailParts): DetailParts {
  return {
    ...found,
    violations: found.violations.map(({ field, ...rest }) => ({ ...rest, field: names(field) })),
  };
}

/**
 * Reads `data`. An array of typed details is how 1.0 answers; it is what a frame gets that names no method of 0.3.
 */
export function legacyDetails(names: NameIn1_0, data: JsonValue | undefined): DetailParts {
  if (data === undefined) return NO_DETAILS;
  if (Array.isArray(data)) return detailsFromJson(data);
  if (!isObject(data)) throw new Error(`data is no object: ${JSON.stringify(data)}`);
  const { fieldViolations = [], ...metadata } = data;
  for (const value of Object.values(metadata)) expect(value).toEqual(expect.any(String));
  const violations = (fieldViolations as JsonObject[]).map(
    ({ field, description }): FieldViolation => ({ field: String(field), description: String(description) }),
  );
  return translated(names, { ...NO_DETAILS, metadata: metadata as Record<string, string>, violations });
}

/** The same names in typed details, which gRPC has in both versions. */
export function withNames(names: NameIn1_0, found: DetailParts): DetailParts {
  return translated(names, found);
}

/**
 * There is no ErrorInfo to check, but the text. `unread`: kinds of refusal that come before anything says which version
 * the request is of, so that they are in the form of 1.0.
 */
export function checkLegacy(
  seen: SeenError,
  kind: ErrorKind,
  { bare, unread }: { readonly bare: boolean; readonly unread: readonly ErrorKind[] },
): Required<ErrorRow> {
  if (seen.detailTypes.length > 0 && unread.includes(kind)) return checkErrorInfo(seen, kind, { bare });
  expect(seen.detailTypes, "A2A-172 0.3 has no typed details").toEqual([]);
  return checkErrorInfo(seen, kind, { bare: true });
}

/** A field by one of its names of 1.0 in an answer to a 0.3 request: its writer does not know it (A2A-176). */
function foreign(field: string): string {
  return `(not a name of 0.3) ${field}`;
}

export const fromKindName: NameIn1_0 = (field) => {
  if (/taskPushNotificationConfig|authentication\.scheme$|^(url|token)$/.test(field)) return foreign(field);
  return field
    .replace(/^configuration\.pushNotificationConfig\b/, "configuration.taskPushNotificationConfig")
    .replace(/\bauthentication\.schemes$/, "authentication.scheme")
    .replace(/^pushNotificationConfig\./, "");
};

export const fromProtoName: NameIn1_0 = (field) => {
  if (
    /taskPushNotificationConfig|authentication\.scheme$|^(url|token|id|taskId|message\.parts.*)$/.test(field)
  )
    return foreign(field);
  return field
    .replace(/^name$/, "id")
    .replace(/^parent$/, "taskId")
    .replace(/^message\.content\b/, "message.parts")
    .replace(/^configuration\.pushNotification\b/, "configuration.taskPushNotificationConfig")
    .replace(/\bauthentication\.schemes$/, "authentication.scheme")
    .replace(/^config\.pushNotificationConfig\./, "");
};
