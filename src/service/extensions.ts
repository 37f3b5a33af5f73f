import { BatonError } from "../domain/errors.ts";
import type { ProtocolVersion, RequestMeta, ResponseHeaders } from "./call.ts";

/** Request and response header, and metadata, of the extensions; the second is the spelling of 0.3 (A2A-175). */
const HEADER = "a2a-extensions";
const LEGACY_HEADER = "x-a2a-extensions";

const NONE: readonly string[] = [];

/** An extension that an agent's card names. */
export interface OfferedExtension {
  readonly uri: string;
  /** Whether every client must declare it (A2A-26). */
  readonly required: boolean;
}

/** What the client declared: both spellings, comma-separated, repeated or blank (A2A-24, A2A-175). */
export function declaredExtensions(meta: Pick<RequestMeta, "header">): readonly string[] {
  const own = meta.header(HEADER);
  const legacy = meta.header(LEGACY_HEADER);
  if (!own && !legacy) return NONE;
  const text = [own, legacy].filter(Boolean).join(",");
  return [...new Set(text.split(",").map((uri) => uri.trim()))].filter((uri) => uri !== "");
}

/**
 * The declared extensions that the agent has; others are ignored (A2A-27). Throws ExtensionSupportRequired where the
 * agent demands one that was not declared (A2A-26).
 */
export function activatedExtensions(
  declared: readonly string[],
  offered: readonly OfferedExtension[],
): readonly string[] {
  const missing = offered.find(({ uri, required }) => required && !declared.includes(uri));
  if (missing !== undefined) {
    throw new BatonError("ExtensionSupportRequired", `the agent requires the extension ${missing.uri}`, {
      metadata: { extension: missing.uri },
    });
  }
  return declared.filter((uri) => offered.some((offer) => offer.uri === uri));
}

/** Tells the client which extensions are active, under each name that its version looks for (A2A-25). */
export function echoExtensions(
  headers: ResponseHeaders,
  activated: readonly string[],
  version: ProtocolVersion,
): void {
  if (activated.length === 0) return;
  const text = activated.join(", ");
  headers.set(HEADER, text);
  if (version === "0.3") headers.set(LEGACY_HEADER, text);
}
