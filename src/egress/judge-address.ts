import { type AddressBytes, formatAddress, inPrefix, mappedV4, parseAddress } from "./address.ts";
import type { AddressVerdict } from "./decision.ts";
import { embeddedV4 } from "./embedded.ts";
import { isMetadataAddress } from "./metadata.ts";
import type { AllowEntry, EgressPolicy } from "./policy.ts";
import { includesPort } from "./ports.ts";
import { rangeOf, type SpecialRange } from "./special-purpose.ts";

export interface AddressQuestion {
  /** Default 443. */
  readonly port?: number;
  /** True for `http:`, which only an allow entry with `plaintext` opens. Default false. */
  readonly plaintext?: boolean;
}

/**
 * The address arm: may a request go to this address? Pure.
 *
 * In order: metadata and our own listeners are refused whatever the policy says; then allow entries; then the
 * special-purpose table, where an address that carries IPv4 stands or falls with every IPv4 address inside it.
 * An allow entry opens the address as written (a mapped address is its IPv4 address); it does not open the tunnels
 * that lead to it.
 * @example judgeAddress(parseAddress("64:ff9b::a00:1"), compilePolicy()).allowed // false: 10.0.0.1 inside
 */
export function judgeAddress(
  bytes: AddressBytes,
  policy: EgressPolicy,
  question: AddressQuestion = {},
): AddressVerdict {
  const { port = 443, plaintext = false } = question;
  const address = formatAddress(bytes);
  const range = rangeOf(bytes);
  const inside = embeddedV4(bytes, policy.nat64);
  if (isMetadataAddress(bytes, policy.nat64)) {
    return { address, allowed: false, reason: "address_metadata", range: "metadata" };
  }
  const own = [bytes, ...inside.map((item) => item.v4)].some((candidate) =>
    isOwnListener(candidate, port, policy),
  );
  if (own) return { address, allowed: false, reason: "address_own_listener", range: "own-listener" };

  const canonical = mappedV4(bytes) ?? bytes;
  const never = rangeOf(canonical).verdict === "never";
  const covering = never ? [] : policy.allow.filter((entry) => inPrefix(canonical, entry.prefix));
  const opening = covering.find((entry) => opens(entry, port, plaintext));
  if (opening !== undefined) {
    return { address, allowed: true, reason: "allowed", range: range.name, allowedBy: opening.text };
  }

  const refusal = refusingRange(bytes, range, policy);
  if (refusal !== undefined) {
    const reason = refusedReason(covering, port);
    return { address, allowed: false, reason, ...refusal };
  }
  if (plaintext) return { address, allowed: false, reason: "plaintext_not_allowed", range: range.name };
  if (!includesPort(policy.ports, port)) {
    return { address, allowed: false, reason: "port_not_allowed", range: range.name };
  }
  const first = inside[0];
  const embedded = first && { form: first.form, address: formatAddress(first.v4) };
  return { address, allowed: true, reason: "allowed", range: range.name, ...(embedded && { embedded }) };
}

/** As {@link judgeAddress}, for text from a resolver; undefined where it is not one plain address. */
export function judgeAddressText(
  text: string,
  policy: EgressPolicy,
  question: AddressQuestion = {},
): AddressVerdict | undefined {
  const bytes = parseAddress(text);
  return bytes && judgeAddress(bytes, policy, question);
}

function opens(entry: AllowEntry, port: number, plaintext: boolean): boolean {
  return includesPort(entry.ports, port) && (entry.plaintext || !plaintext);
}

function isOwnListener(bytes: AddressBytes, port: number, policy: EgressPolicy): boolean {
  return policy.ownListeners.some(
    (listener) => listener.port === port && listener.prefixes.some((prefix) => inPrefix(bytes, prefix)),
  );
}

function refusingRange(
  bytes: AddressBytes,
  range: SpecialRange,
  policy: EgressPolicy,
): Pick<AddressVerdict, "range" | "embedded"> | undefined {
  const inside = embeddedV4(bytes, policy.nat64);
  // An operator's NAT64 network may lie in space that is refused otherwise: there the inside alone decides.
  const isNat64 = policy.nat64.some((prefix) => inPrefix(bytes, prefix));
  if (
    isNat64 &&
    policy.nat64.some((prefix) => inPrefix(bytes, prefix) && prefix.length < 96 && bytes[8] !== 0)
  ) {
    return { range: range.name };
  }
  if (!isNat64 && (range.verdict === "deny" || range.verdict === "never")) return { range: range.name };
  for (const { form, v4 } of inside) {
    const within = rangeOf(v4);
    if (within.verdict !== "allow") {
      return { range: within.name, embedded: { form, address: formatAddress(v4) } };
    }
  }
  return undefined;
}

/** Tells an operator whose allow entry nearly fits what is missing from it. */
function refusedReason(covering: readonly AllowEntry[], port: number): AddressVerdict["reason"] {
  if (covering.length === 0) return "address_not_public";
  return covering.some((entry) => includesPort(entry.ports, port))
    ? "plaintext_not_allowed"
    : "port_not_allowed";
}
