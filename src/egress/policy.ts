import { networkInterfaces } from "node:os";
import {
  type AddressBytes,
  formatAddress,
  inPrefix,
  type Prefix,
  parseAddress,
  parsePrefix,
} from "./address.ts";
import { NAT64_LENGTHS } from "./embedded.ts";
import { EgressPolicyError } from "./errors.ts";
import { isMetadataAddress, METADATA_NAMES } from "./metadata.ts";
import { compileNamePattern, type NamePattern } from "./names.ts";
import { formatPorts, type PortInput, type PortRange, parsePorts } from "./ports.ts";
import { rangeOf, SPECIAL_RANGES } from "./special-purpose.ts";

/** One hole in the guard, as narrow as it can be written. */
export interface AllowEntryInput {
  /** A block such as `10.20.0.0/16`. No wider than /8 (IPv4) or /7 (IPv6); never a metadata address. */
  readonly cidr: string;
  /** Ports of this entry. Default: the policy's `ports`. */
  readonly ports?: readonly PortInput[];
  /** Also allow `http:` to this entry. Default false. Production advice: leave it off; credentials travel in clear. */
  readonly plaintext?: boolean;
}

export interface EgressPolicyInput {
  /**
   * Ports for public addresses. Default 443 and 8443: where HTTPS hooks live. Anything else would let a caller
   * probe foreign services (mail, databases, cluster APIs) from our address.
   */
  readonly ports?: readonly PortInput[];
  /** Receivers inside the operator's own network. Default none. */
  readonly allow?: readonly AllowEntryInput[];
  /**
   * Internal names that may be resolved: exact (`hooks.default.svc`) or one leading wildcard (`*.svc.cluster.local`).
   * A name alone opens nothing: its addresses still need an allow entry. Metadata names are refused always.
   */
  readonly allowNames?: readonly string[];
  /** NAT64 networks besides 64:ff9b::/96, as RFC 6052 prefixes (length 32, 40, 48, 56, 64 or 96). Default none. */
  readonly nat64Prefixes?: readonly string[];
  /**
   * Where this program itself listens; refused always, so that a push cannot be sent to the gateway.
   * A wildcard address (`0.0.0.0`, `::`) means every address of this machine.
   */
  readonly ownListeners?: readonly { readonly address: string; readonly port: number }[];
}

export interface AllowEntry {
  readonly text: string;
  readonly prefix: Prefix;
  readonly ports: readonly PortRange[];
  readonly plaintext: boolean;
}

export interface OwnListener {
  readonly port: number;
  readonly prefixes: readonly Prefix[];
}

/** A checked policy, ready for judging. Immutable. */
export interface EgressPolicy {
  readonly ports: readonly PortRange[];
  readonly allow: readonly AllowEntry[];
  readonly allowNames: readonly NamePattern[];
  readonly nat64: readonly Prefix[];
  readonly ownListeners: readonly OwnListener[];
  /** One sentence for each hole the operator made: to log at warn when starting and to show on the status page. */
  readonly exceptions: readonly string[];
}

const DEFAULT_PORTS: readonly PortInput[] = [443, 8443];
const WIDEST = { 4: 8, 16: 7 } as const;

/** @throws EgressPolicyError with a sentence for the operator */
export function compilePolicy(input: EgressPolicyInput = {}): EgressPolicy {
  const ports = parsePorts(input.ports ?? DEFAULT_PORTS);
  const nat64 = (input.nat64Prefixes ?? []).map(compileNat64);
  const allow = (input.allow ?? []).map((entry) => compileAllow(entry, ports));
  const allowNames = (input.allowNames ?? []).map(compileName);
  return Object.freeze({
    ports,
    allow,
    allowNames,
    nat64,
    ownListeners: (input.ownListeners ?? []).map(compileListener),
    exceptions: [
      ...allow.map(
        (entry) => `egress: ${entry.plaintext ? "http and https" : "https"} allowed to ${entry.text}`,
      ),
      ...allowNames.map((pattern) => `egress: internal name ${pattern.text} may be resolved`),
    ],
  });
}

function compileAllow(entry: AllowEntryInput, defaultPorts: readonly PortRange[]): AllowEntry {
  const prefix = requirePrefix(entry.cidr);
  const widest = prefix.bytes.length === 4 ? WIDEST[4] : WIDEST[16];
  if (prefix.length === 0) {
    throw new EgressPolicyError(
      `allow entry "${entry.cidr}" would switch the egress guard off; name the receivers' own block and ports`,
    );
  }
  if (prefix.length < widest) {
    throw new EgressPolicyError(`allow entry "${entry.cidr}" is too wide; the widest block is /${widest}`);
  }
  const unusable = SPECIAL_RANGES.find(
    (range) => range.verdict === "never" && isWithin(prefix, range.prefix),
  );
  if (unusable !== undefined) {
    throw new EgressPolicyError(
      `allow entry "${entry.cidr}" lies in ${unusable.name} (${unusable.cidr}), where no receiver can be`,
    );
  }
  if (prefix.length === prefix.bytes.length * 8 && isMetadataAddress(prefix.bytes)) {
    throw new EgressPolicyError(
      `allow entry "${entry.cidr}" is an instance metadata address, which is refused always`,
    );
  }
  const ports = entry.ports === undefined ? defaultPorts : parsePorts(entry.ports);
  const text = `${formatAddress(prefix.bytes)}/${prefix.length} ports ${formatPorts(ports)}`;
  return { text, prefix, ports, plaintext: entry.plaintext ?? false };
}

function compileNat64(cidr: string): Prefix {
  const prefix = requirePrefix(cidr);
  if (prefix.bytes.length !== 16 || !NAT64_LENGTHS.includes(prefix.length)) {
    throw new EgressPolicyError(
      `NAT64 prefix "${cidr}" must be IPv6 with a length of ${NAT64_LENGTHS.join(", ")} (RFC 6052)`,
    );
  }
  if (prefix.bytes[8] !== 0) {
    throw new EgressPolicyError(`NAT64 prefix "${cidr}" must have bits 64 to 71 zero (RFC 6052)`);
  }
  const range = rangeOf(prefix.bytes).name;
  if (!["public-ipv6", "unique-local", "nat64-local-use", "nat64"].includes(range)) {
    throw new EgressPolicyError(`NAT64 prefix "${cidr}" lies in ${range}, where no NAT64 network can be`);
  }
  return prefix;
}

function compileName(text: string): NamePattern {
  const pattern = compileNamePattern(text);
  if (pattern === undefined) {
    throw new EgressPolicyError(`"${text}" is not a host name or a pattern such as *.svc.cluster.local`);
  }
  if (METADATA_NAMES.has(pattern.name)) {
    throw new EgressPolicyError(`"${text}" is an instance metadata name, which is refused always`);
  }
  return pattern;
}

function compileListener(listener: { address: string; port: number }): OwnListener {
  const bytes = parseAddress(listener.address);
  if (bytes === undefined) {
    throw new EgressPolicyError(`own listener "${listener.address}" is not an IP address`);
  }
  if (rangeOf(bytes).name !== "unspecified" && rangeOf(bytes).name !== "this-host") {
    return { port: listener.port, prefixes: [whole(bytes)] };
  }
  // The kernel answers on all of 127.0.0.0/8 for a wildcard listener, not only on the addresses it lists.
  return { port: listener.port, prefixes: [requirePrefix("127.0.0.0/8"), ...machineAddresses().map(whole)] };
}

function machineAddresses(): readonly AddressBytes[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .flatMap((info) => parseAddress(info.address.split("%")[0] ?? "") ?? []);
}

function isWithin(inner: Prefix, outer: Prefix): boolean {
  return inner.length >= outer.length && inPrefix(inner.bytes, outer);
}

function whole(bytes: AddressBytes): Prefix {
  return { bytes, length: bytes.length * 8 };
}

function requirePrefix(text: string): Prefix {
  const prefix = parsePrefix(text);
  if (typeof prefix === "string") throw new EgressPolicyError(prefix);
  return prefix;
}
