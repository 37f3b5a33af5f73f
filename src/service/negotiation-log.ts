import { createHash } from "node:crypto";
import { BatonError } from "../domain/errors.ts";
import type { ProtocolVersion, RequestMeta } from "./call.ts";
import { negotiateVersion, VERSION_HEADER } from "./version.ts";

/** How a version was agreed on or not; content-free (OW-9). */
export interface Negotiation {
  readonly protocol: "a2a";
  /** Digest of who asked, never who. */
  readonly peer: string;
  /** As asked for; empty where nothing was. */
  readonly requested: string;
  /** Empty where it was refused. */
  readonly negotiated: ProtocolVersion | "";
  readonly outcome: "accepted" | "downgraded" | "refused";
  readonly reason: string;
}

export interface NegotiationRules {
  /** Preferred first; what is not listed fails closed. */
  readonly versions: readonly ProtocolVersion[];
  readonly strict: boolean;
  /** Told of every outcome. The peer is authenticated by then. */
  onOutcome(negotiation: Negotiation): void;
}

/** Chooses the version of a call, as {@link negotiateVersion}, and tells how that came about. */
export function negotiate(meta: RequestMeta, peerId: string, rules: NegotiationRules): ProtocolVersion {
  const requested = (meta.header(VERSION_HEADER)?.trim() ?? "").slice(0, 32).replace(/[^\x20-\x7e]/g, "?");
  const tell = (negotiated: ProtocolVersion | "", outcome: Negotiation["outcome"], reason: string) =>
    rules.onOutcome({ protocol: "a2a", peer: digest(peerId), requested, negotiated, outcome, reason });
  try {
    const version = negotiateVersion(meta, rules.versions, rules.strict);
    const preferred = version === rules.versions[0];
    tell(version, preferred ? "accepted" : "downgraded", preferred ? "preferred" : "peer_asked");
    return version;
  } catch (error) {
    const unsupported = error instanceof BatonError && error.kind === "VersionNotSupported";
    tell("", "refused", unsupported ? "version_not_supported" : "not_of_this_version");
    throw error;
  }
}

function digest(peerId: string): string {
  return createHash("sha256").update(`peer:${peerId}`).digest("base64url").slice(0, 22);
}

/** One outcome of one peer is written once in this time, in milliseconds: it is an audit, not a trace. */
const AGAIN_MS = 3_600_000;
const MAX_REMEMBERED = 10_000;

/** Passes on what is new: the first outcome of its kind for each peer, and again after an hour. */
export function onceInAWhile(
  write: (agent: string, negotiation: Negotiation) => void,
): (agent: string, negotiation: Negotiation) => void {
  const written = new Map<string, number>();
  return (agent, negotiation) => {
    const now = Date.now();
    const key = JSON.stringify([agent, negotiation]);
    const last = written.get(key);
    if (last !== undefined && now - last < AGAIN_MS) return;
    if (written.size >= MAX_REMEMBERED) written.clear();
    written.set(key, now);
    write(agent, negotiation);
  };
}
