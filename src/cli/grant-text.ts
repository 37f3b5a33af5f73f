import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Scope } from "../../gen/baton/admin/v1/endpoint_pb.js";
import { type Grant, GrantState } from "../../gen/baton/admin/v1/grant_pb.js";

const STATES: Readonly<Record<GrantState, string>> = {
  [GrantState.UNSPECIFIED]: "unknown",
  [GrantState.PENDING]: "pending",
  [GrantState.APPROVED]: "approved",
  [GrantState.DENIED]: "denied",
  [GrantState.REVOKED]: "revoked",
};

export function grantState(grant: Grant): string {
  return STATES[grant.state];
}

/** Who asks: an email that the issuer verified, else the subject. */
export function humanText(grant: Grant): string {
  const { fromHuman } = grant;
  return fromHuman?.email || `${fromHuman?.subject} at ${fromHuman?.issuer}`;
}

function scopeText(scope: Scope | undefined): string {
  if (scope === undefined) return "nothing";
  const extra = [scope.streaming ? "streaming" : "", scope.push ? "push" : ""].filter((text) => text !== "");
  return `${[...scope.verbs, ...extra].join(", ")} on ${scope.queues.join(", ")}`;
}

/** A friend request, for people. What the requester wrote is quoted, so that it cannot pass for our words. */
export function grantText(grant: Grant): string {
  const lines = [
    `${grant.id}  ${grantState(grant)}`,
    `agent ${grant.agent}, from ${humanText(grant)} (${grant.fromHuman?.issuer} says so)`,
    `persona ${quoted(grant.fromPersona)}, reason ${quoted(grant.reason)}`,
    `asked for ${scopeText(grant.requested)}`,
  ];
  if (grant.granted !== undefined) lines.push(`granted ${scopeText(grant.granted)}`);
  if (grant.endpointId !== "") lines.push(`endpoint ${grant.endpointId}`);
  if (grant.pickedUpAt !== undefined) {
    lines.push(`credential fetched ${timestampDate(grant.pickedUpAt).toISOString()}`);
  } else if (grant.pickupUntil !== undefined) {
    lines.push(`credential can be fetched until ${timestampDate(grant.pickupUntil).toISOString()}`);
  }
  return lines.join("\n");
}

/** A stranger's text on one line, without characters that could move the terminal's cursor. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "?");
}
