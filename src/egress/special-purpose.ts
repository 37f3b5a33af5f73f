import { type AddressBytes, inPrefix, type Prefix, parsePrefix } from "./address.ts";

/**
 * Address space that is not ordinary public space, as one table.
 *
 * Sources: the IANA IPv4 Special-Purpose Address Registry and the IANA IPv6 Special-Purpose Address Registry, whole
 * (RFC 6890 as updated by RFC 8190; state of 2025-10), the IANA IPv6 Address Space registry (outside 2000::/3
 * nothing is global unicast), the multicast registries (RFC 5771, RFC 4291), and the deprecated blocks that
 * registries no longer list. `iana` repeats the registry's "Globally Reachable" column.
 */
export type IanaReach = "reachable" | "not-reachable" | "n/a" | "terminated" | "unlisted";

/**
 * - `allow`: public.
 * - `deny`: refused unless an allow entry names it.
 * - `never`: refused even then; no receiver can live there (unspecified, multicast, broadcast).
 * - `unwrap`: carries an IPv4 address, which is judged instead.
 */
export type RangeVerdict = "allow" | "deny" | "never" | "unwrap";

export interface SpecialRange {
  readonly cidr: string;
  /** Stable; shown in decisions, metrics and logs. */
  readonly name: string;
  readonly source: string;
  readonly iana: IanaReach;
  readonly verdict: RangeVerdict;
  readonly prefix: Prefix;
}

const V4_REGISTRY = "IANA IPv4 special-purpose";
const V6_REGISTRY = "IANA IPv6 special-purpose";
const V6_SPACE = "IANA IPv6 address space";

type Row = readonly [cidr: string, name: string, source: string, iana: IanaReach, verdict: RangeVerdict];

const ROWS: readonly Row[] = [
  ["0.0.0.0/0", "public-ipv4", "RFC 791", "unlisted", "allow"],
  ["0.0.0.0/8", "this-network", `${V4_REGISTRY}; RFC 791`, "not-reachable", "never"],
  ["0.0.0.0/32", "this-host", `${V4_REGISTRY}; RFC 1122`, "not-reachable", "never"],
  ["10.0.0.0/8", "private-10", `${V4_REGISTRY}; RFC 1918`, "not-reachable", "deny"],
  ["100.64.0.0/10", "shared-address-space", `${V4_REGISTRY}; RFC 6598`, "not-reachable", "deny"],
  ["127.0.0.0/8", "loopback", `${V4_REGISTRY}; RFC 1122`, "not-reachable", "deny"],
  ["169.254.0.0/16", "link-local", `${V4_REGISTRY}; RFC 3927`, "not-reachable", "deny"],
  ["172.16.0.0/12", "private-172", `${V4_REGISTRY}; RFC 1918`, "not-reachable", "deny"],
  ["192.0.0.0/24", "ietf-protocol-assignments", `${V4_REGISTRY}; RFC 6890`, "not-reachable", "deny"],
  ["192.0.0.0/29", "ipv4-service-continuity", `${V4_REGISTRY}; RFC 7335`, "not-reachable", "deny"],
  ["192.0.0.8/32", "ipv4-dummy", `${V4_REGISTRY}; RFC 7600`, "not-reachable", "deny"],
  // Anycast that the nearest network's own boxes answer: reachable for IANA, inside for us.
  ["192.0.0.9/32", "pcp-anycast", `${V4_REGISTRY}; RFC 7723`, "reachable", "deny"],
  ["192.0.0.10/32", "turn-anycast", `${V4_REGISTRY}; RFC 8155`, "reachable", "deny"],
  ["192.0.0.170/32", "nat64-discovery", `${V4_REGISTRY}; RFC 8880, RFC 7050`, "not-reachable", "deny"],
  ["192.0.0.171/32", "nat64-discovery", `${V4_REGISTRY}; RFC 8880, RFC 7050`, "not-reachable", "deny"],
  ["192.0.2.0/24", "documentation-test-net-1", `${V4_REGISTRY}; RFC 5737`, "not-reachable", "deny"],
  ["192.31.196.0/24", "as112-v4", `${V4_REGISTRY}; RFC 7535`, "reachable", "allow"],
  ["192.52.193.0/24", "amt-v4", `${V4_REGISTRY}; RFC 7450`, "reachable", "allow"],
  ["192.88.99.0/24", "6to4-relay-anycast", `${V4_REGISTRY}; RFC 7526`, "terminated", "deny"],
  ["192.88.99.2/32", "6a44-relay-anycast", `${V4_REGISTRY}; RFC 6751`, "not-reachable", "deny"],
  ["192.168.0.0/16", "private-192", `${V4_REGISTRY}; RFC 1918`, "not-reachable", "deny"],
  ["192.175.48.0/24", "as112-direct-v4", `${V4_REGISTRY}; RFC 7534`, "reachable", "allow"],
  ["198.18.0.0/15", "benchmarking", `${V4_REGISTRY}; RFC 2544`, "not-reachable", "deny"],
  ["198.51.100.0/24", "documentation-test-net-2", `${V4_REGISTRY}; RFC 5737`, "not-reachable", "deny"],
  ["203.0.113.0/24", "documentation-test-net-3", `${V4_REGISTRY}; RFC 5737`, "not-reachable", "deny"],
  ["224.0.0.0/4", "multicast", "IANA IPv4 multicast; RFC 5771", "unlisted", "never"],
  ["240.0.0.0/4", "reserved", `${V4_REGISTRY}; RFC 1112`, "not-reachable", "deny"],
  ["255.255.255.255/32", "limited-broadcast", `${V4_REGISTRY}; RFC 919, RFC 8190`, "not-reachable", "never"],

  ["::/0", "reserved-by-ietf", `${V6_SPACE}; RFC 4291`, "unlisted", "deny"],
  ["2000::/3", "public-ipv6", `${V6_SPACE}; RFC 4291`, "unlisted", "allow"],
  ["::/96", "ipv4-compatible", "RFC 4291, deprecated", "unlisted", "unwrap"],
  ["::/128", "unspecified", `${V6_REGISTRY}; RFC 4291`, "not-reachable", "never"],
  ["::1/128", "loopback-v6", `${V6_REGISTRY}; RFC 4291`, "not-reachable", "deny"],
  ["::ffff:0:0/96", "ipv4-mapped", `${V6_REGISTRY}; RFC 4291`, "not-reachable", "unwrap"],
  ["::ffff:0:0:0/96", "ipv4-translated", "RFC 2765, RFC 7915", "unlisted", "deny"],
  ["64:ff9b::/96", "nat64", `${V6_REGISTRY}; RFC 6052`, "reachable", "unwrap"],
  // Each network picks its own layout inside this block, so what it leads to cannot be known.
  ["64:ff9b:1::/48", "nat64-local-use", `${V6_REGISTRY}; RFC 8215`, "not-reachable", "deny"],
  ["100::/64", "discard-only", `${V6_REGISTRY}; RFC 6666`, "not-reachable", "deny"],
  ["100:0:0:1::/64", "dummy-v6", `${V6_REGISTRY}; RFC 9780`, "not-reachable", "deny"],
  ["2001::/23", "ietf-protocol-assignments-v6", `${V6_REGISTRY}; RFC 2928`, "not-reachable", "deny"],
  ["2001::/32", "teredo", `${V6_REGISTRY}; RFC 4380, RFC 8190`, "n/a", "unwrap"],
  ["2001:1::1/128", "pcp-anycast-v6", `${V6_REGISTRY}; RFC 7723`, "reachable", "deny"],
  ["2001:1::2/128", "turn-anycast-v6", `${V6_REGISTRY}; RFC 8155`, "reachable", "deny"],
  ["2001:1::3/128", "dns-sd-srp-anycast", `${V6_REGISTRY}; RFC 9665`, "reachable", "deny"],
  ["2001:2::/48", "benchmarking-v6", `${V6_REGISTRY}; RFC 5180`, "not-reachable", "deny"],
  ["2001:3::/32", "amt-v6", `${V6_REGISTRY}; RFC 7450`, "reachable", "allow"],
  ["2001:4:112::/48", "as112-v6", `${V6_REGISTRY}; RFC 7535`, "reachable", "allow"],
  ["2001:10::/28", "orchid-deprecated", `${V6_REGISTRY}; RFC 4843`, "terminated", "deny"],
  // Identifiers in the shape of addresses: nothing is routed to them.
  ["2001:20::/28", "orchid-v2", `${V6_REGISTRY}; RFC 7343`, "reachable", "deny"],
  ["2001:30::/28", "drone-remote-id", `${V6_REGISTRY}; RFC 9374`, "reachable", "deny"],
  ["2001:db8::/32", "documentation-v6", `${V6_REGISTRY}; RFC 3849`, "not-reachable", "deny"],
  ["2002::/16", "6to4", `${V6_REGISTRY}; RFC 3056`, "n/a", "unwrap"],
  ["2620:4f:8000::/48", "as112-direct-v6", `${V6_REGISTRY}; RFC 7534`, "reachable", "allow"],
  ["3ffe::/16", "6bone", "RFC 3701, returned", "unlisted", "deny"],
  ["3fff::/20", "documentation-v6-2", `${V6_REGISTRY}; RFC 9637`, "not-reachable", "deny"],
  ["5f00::/16", "srv6-sids", `${V6_REGISTRY}; RFC 9602`, "not-reachable", "deny"],
  ["fc00::/7", "unique-local", `${V6_REGISTRY}; RFC 4193, RFC 8190`, "not-reachable", "deny"],
  ["fe80::/10", "link-local-v6", `${V6_REGISTRY}; RFC 4291`, "not-reachable", "deny"],
  ["fec0::/10", "site-local", "RFC 3879, deprecated", "unlisted", "deny"],
  ["ff00::/8", "multicast-v6", "IANA IPv6 multicast; RFC 4291", "unlisted", "never"],
];

export const SPECIAL_RANGES: readonly SpecialRange[] = ROWS.map(([cidr, name, source, iana, verdict]) => ({
  cidr,
  name,
  source,
  iana,
  verdict,
  prefix: tablePrefix(cidr),
}));

const MOST_SPECIFIC_FIRST = SPECIAL_RANGES.toSorted((a, b) => b.prefix.length - a.prefix.length);

/** The most specific row that holds the address; the two catch-all rows make it total. */
export function rangeOf(bytes: AddressBytes): SpecialRange {
  const found = MOST_SPECIFIC_FIRST.find((range) => inPrefix(bytes, range.prefix));
  if (found === undefined) throw new TypeError("an address has 4 or 16 bytes");
  return found;
}

function tablePrefix(cidr: string): Prefix {
  // A row that covers the mapped block whole must stay IPv6: here the block itself is meant, not what it maps to.
  if (cidr === "::ffff:0:0/96")
    return { bytes: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0), length: 96 };
  const prefix = parsePrefix(cidr);
  if (typeof prefix === "string") throw new TypeError(prefix);
  return prefix;
}
