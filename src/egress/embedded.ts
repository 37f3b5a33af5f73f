import { type AddressBytes, inPrefix, mappedV4, type Prefix } from "./address.ts";

/**
 * IPv4 addresses carried inside IPv6 ones. A packet to such an address may end at the IPv4 host inside, so the
 * inside is what must be judged.
 */
export type Embedding =
  | "ipv4-mapped"
  | "ipv4-compatible"
  | "nat64"
  | "6to4"
  | "teredo-server"
  | "teredo-client"
  | "isatap";

export interface EmbeddedV4 {
  readonly form: Embedding;
  readonly v4: AddressBytes;
}

/** Prefix lengths that RFC 6052 section 2.2 defines, in bits. */
export const NAT64_LENGTHS: readonly number[] = [32, 40, 48, 56, 64, 96];

const NAT64_WELL_KNOWN: Prefix = {
  bytes: Uint8Array.of(0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
  length: 96,
};

/**
 * Every IPv4 address inside `bytes`; more than one where forms nest (Teredo has two, a 6to4 prefix may carry an
 * ISATAP interface).
 * @param nat64 networks that the operator says are NAT64 prefixes, besides 64:ff9b::/96
 */
export function embeddedV4(bytes: AddressBytes, nat64: readonly Prefix[] = []): readonly EmbeddedV4[] {
  if (bytes.length !== 16) return [];
  const mapped = mappedV4(bytes);
  if (mapped !== undefined) return [{ form: "ipv4-mapped", v4: mapped }];
  const found: EmbeddedV4[] = [];
  if (isZero(bytes, 0, 12)) found.push({ form: "ipv4-compatible", v4: bytes.slice(12) });
  for (const prefix of [NAT64_WELL_KNOWN, ...nat64]) {
    if (inPrefix(bytes, prefix)) found.push({ form: "nat64", v4: nat64V4(bytes, prefix.length) });
  }
  if (bytes[0] === 0x20 && bytes[1] === 0x02) found.push({ form: "6to4", v4: bytes.slice(2, 6) });
  if (bytes[0] === 0x20 && bytes[1] === 0x01 && isZero(bytes, 2, 4)) {
    found.push({ form: "teredo-server", v4: bytes.slice(4, 8) });
    // RFC 4380 section 4: the client's address is stored inverted.
    found.push({ form: "teredo-client", v4: bytes.slice(12).map((byte) => byte ^ 0xff) });
  }
  if (isIsatap(bytes)) found.push({ form: "isatap", v4: bytes.slice(12) });
  return found;
}

/** RFC 6052 section 2.2: the address follows the prefix and steps over byte 8, which is always zero. */
export function nat64V4(bytes: AddressBytes, length: number): AddressBytes {
  const v4 = new Uint8Array(4);
  let from = length / 8;
  for (let i = 0; i < 4; i++) {
    if (from === 8) from++;
    v4[i] = bytes[from++] ?? 0;
  }
  return v4;
}

/** RFC 5214 section 6.1: interface identifier `[02]00:5efe` and the IPv4 address, under any prefix. */
function isIsatap(bytes: AddressBytes): boolean {
  return (bytes[8] === 0 || bytes[8] === 2) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe;
}

function isZero(bytes: AddressBytes, from: number, to: number): boolean {
  return bytes.subarray(from, to).every((byte) => byte === 0);
}
