import { expect } from "vitest";
import type { ErrorKind, ErrorRow } from "../../../src/domain/errors.ts";
import type { SeenError } from "../driver.ts";
import { expectedRow } from "./error-rows.ts";

/**
 * What every transport must carry besides its own code: ErrorInfo with the reason and domain of the kind, and a text
 * without internals (A2A-153, A2A-160). With `bare` the transport itself refused and may leave the details out.
 */
export function checkErrorInfo(
  seen: SeenError,
  kind: ErrorKind,
  { bare }: { readonly bare: boolean },
): Required<ErrorRow> {
  const row = expectedRow(kind);
  if (!bare) {
    expect({ reason: seen.reason, domain: seen.domain }, seen.message).toEqual({
      reason: row.reason,
      domain: row.domain,
    });
  }
  expect(seen.message, "A2A-160 the text shows nothing of the inside").not.toMatch(
    /redis|node_modules|\.ts\b|\.lua\b|undefined|\[object|^\s*at /im,
  );
  return row;
}

/** Every HTTP refusal says how to authenticate (A2A-8). */
export function checkChallenge(seen: SeenError, kind: ErrorKind): void {
  if (kind !== "Unauthenticated") return;
  expect(seen.headers.get("www-authenticate")).toMatch(/^Bearer\b/);
}
