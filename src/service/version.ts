import { BatonError } from "../domain/errors.ts";
import type { ProtocolVersion, RequestMeta } from "./call.ts";

/** Header, metadata and query name of the version (A2A-18, A2A-23); looked up in lower case. */
export const VERSION_HEADER = "a2a-version";

/**
 * Chooses the version a call is served with (a2a.md section 2.7). The header wins over the query parameter; blank
 * counts as absent; patch numbers play no part (A2A-18 to A2A-21). Without a version the form of the request decides,
 * unless `strict`, where absence means 0.3 to the letter (A2A-19).
 *
 * Throws VersionNotSupported for a version we do not serve, and MethodNotFound where the named version has no such
 * form (a 1.0 method asked for as 0.3, or the reverse).
 */
export function negotiateVersion(
  meta: RequestMeta,
  served: readonly ProtocolVersion[],
  strict: boolean,
): ProtocolVersion {
  const asked = meta.header(VERSION_HEADER)?.trim() || meta.query?.("A2A-Version")?.trim() || "";
  if (asked === "") {
    if (strict && meta.form !== "0.3") throw notSupported("0.3 (implied)", served);
    if (!served.includes(meta.form)) throw notSupported(`${meta.form} (implied)`, served);
    return meta.form;
  }
  if (asked === meta.form && served.includes(meta.form)) return meta.form;
  const match = /^(\d{1,3}\.\d{1,3})(?:\.\d{1,3})?$/.exec(asked);
  const version = served.find((candidate) => candidate === match?.[1]);
  if (version === undefined) throw notSupported(asked, served);
  if (version !== meta.form) {
    throw new BatonError("MethodNotFound", `this method is not part of A2A ${version}`);
  }
  return version;
}

function notSupported(asked: string, served: readonly ProtocolVersion[]): BatonError {
  const shown = asked.slice(0, 32).replace(/[^\x20-\x7e]/g, "?");
  return new BatonError(
    "VersionNotSupported",
    `A2A version ${shown} is not supported; these are: ${served.join(", ")}`,
    {
      metadata: { supportedVersions: served.join(",") },
    },
  );
}
