import { type AddressBytes, formatAddress, parseAddress } from "./address.ts";
import type { DecisionArm, DecisionReason, EgressDecision } from "./decision.ts";
import { nameProblem } from "./names.ts";
import type { EgressPolicy } from "./policy.ts";
import { includesPort } from "./ports.ts";

/** Longest URL that is read, in UTF-16 units. */
export const MAX_URL_LENGTH = 2048;

/** A URL that passed every arm which needs no DNS. */
export interface EgressTarget {
  readonly scheme: "https" | "http";
  /** Normalised host: lower case, punycode, no brackets, no trailing dot. */
  readonly host: string;
  readonly port: number;
  /** Set where the host is an IP literal; then no DNS is asked. */
  readonly literal?: AddressBytes;
  /** Path and query, as the request line needs it. Not for logs. */
  readonly path: string;
}

export type UrlJudgement =
  | { readonly target: EgressTarget; readonly refusal?: never }
  | { readonly refusal: EgressDecision; readonly target?: never };

// Space and controls are dropped or rewritten by URL parsers, and a backslash is a slash to some of them and not to
// others; where two readers of one text can disagree about its host, nobody should have to guess.
const AMBIGUOUS = /[\p{Cc} \\]/u;

/**
 * The scheme, URL and name arms, in that order. Reads with the WHATWG parser, which turns octal, hex, decimal, short,
 * full-width and percent-encoded IPv4 hosts into plain ones, so that the address arm sees what would be dialled.
 */
export function judgeUrl(text: string, policy: EgressPolicy): UrlJudgement {
  if (text.length > MAX_URL_LENGTH) return refuse("url", "url_too_long");
  if (AMBIGUOUS.test(text)) return refuse("url", "url_character");
  const url = URL.parse(text);
  if (url === null) return refuse("url", "url_unreadable");

  const scheme = url.protocol.slice(0, -1);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  const port = url.port === "" ? (scheme === "http" ? 80 : 443) : Number(url.port);
  const refuseHere = (arm: DecisionArm, reason: DecisionReason) => refuse(arm, reason, host, port);
  if (scheme !== "https" && scheme !== "http") return refuseHere("scheme", "scheme_not_https");
  const plaintext = scheme === "http";
  const possible = policy.allow.filter((entry) => !plaintext || entry.plaintext);
  if (plaintext && possible.length === 0) return refuseHere("scheme", "scheme_not_https");
  if (url.username !== "" || url.password !== "" || hasEmptyUserinfo(text))
    return refuseHere("url", "userinfo");

  const literal = parseAddress(host);
  const problem = literal === undefined ? nameProblem(host, policy.allowNames) : undefined;
  if (problem !== undefined) return refuseHere(problem === "host_malformed" ? "url" : "name", problem);
  const portFits =
    (!plaintext && includesPort(policy.ports, port)) ||
    possible.some((entry) => includesPort(entry.ports, port));
  // An address that nobody may dial is refused by its own arm: the better reason for the same answer.
  if (!portFits && literal === undefined) return refuseHere("url", "port_not_allowed");
  const path = url.pathname + url.search;
  if (literal === undefined) return { target: { scheme, host, port, path } };
  return { target: { scheme, host: formatAddress(literal), port, literal, path } };
}

/** `https://@host/` has userinfo that is empty, and the parser drops it without a trace. */
function hasEmptyUserinfo(text: string): boolean {
  const authority = /^[a-z]+:\/*([^/?#]*)/i.exec(text)?.[1] ?? "";
  return authority.includes("@");
}

function refuse(arm: DecisionArm, reason: DecisionReason, host = "", port = 0): UrlJudgement {
  // A host longer than any name is not kept: nothing but noise can be in it.
  return { refusal: { allowed: false, arm, reason, host: host.slice(0, 253), port } };
}
