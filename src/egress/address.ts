/**
 * IP addresses as bytes. Everything that decides compares bytes: one address has many spellings
 * (`::ffff:127.0.0.1`, `::ffff:7f00:1`), and a guard that compares text lets one of them through.
 */

/** Four bytes (IPv4) or sixteen (IPv6), network order. */
export type AddressBytes = Uint8Array;

/** A block of addresses: `bytes` with every bit after `length` zero. */
export interface Prefix {
  readonly bytes: AddressBytes;
  /** Bits, 0..32 or 0..128. */
  readonly length: number;
}

const DECIMAL_OCTET = /^(0|[1-9][0-9]{0,2})$/;
const HEX_GROUP = /^[0-9a-fA-F]{1,4}$/;

/**
 * Strict text to bytes. Octal, hex, short and zone-carrying forms are refused: a URL host has been normalised
 * by the WHATWG parser before it comes here, and a resolver answers in plain form.
 * @returns undefined where the text is not one plain address
 */
export function parseAddress(text: string): AddressBytes | undefined {
  return text.includes(":") ? parseV6(text) : parseV4(text);
}

function parseV4(text: string): AddressBytes | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  const bytes = new Uint8Array(4);
  for (const [i, part] of parts.entries()) {
    if (!DECIMAL_OCTET.test(part)) return undefined;
    const value = Number(part);
    if (value > 255) return undefined;
    bytes[i] = value;
  }
  return bytes;
}

function parseV6(text: string): AddressBytes | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const compressed = halves.length === 2;
  const head = groups(halves[0] ?? "", !compressed);
  const tail = compressed ? groups(halves[1] ?? "", true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const zeros = 16 - head.length - tail.length;
  // "::" stands for at least one group of zeros; without it the groups must fill the address.
  if (compressed ? zeros < 2 : zeros !== 0) return undefined;
  const bytes = new Uint8Array(16);
  bytes.set(head, 0);
  bytes.set(tail, head.length + zeros);
  return bytes;
}

/** The bytes of `a:b:c` or `a:b:1.2.3.4`; a dotted quad may only end the address. */
function groups(text: string, mayEndDotted: boolean): number[] | undefined {
  if (text === "") return [];
  const out: number[] = [];
  const parts = text.split(":");
  for (const [i, part] of parts.entries()) {
    if (part.includes(".")) {
      const quad = mayEndDotted && i === parts.length - 1 ? parseV4(part) : undefined;
      if (quad === undefined) return undefined;
      out.push(...quad);
    } else {
      if (!HEX_GROUP.test(part)) return undefined;
      const value = Number.parseInt(part, 16);
      out.push(value >> 8, value & 0xff);
    }
  }
  return out.length <= 16 ? out : undefined;
}

/** Canonical text: dotted decimal, or RFC 5952 in pure hexadecimal groups. */
export function formatAddress(bytes: AddressBytes): string {
  if (bytes.length === 4) return bytes.join(".");
  const values = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0));
  const run = longestZeroRun(values);
  const hex = (part: number[]) => part.map((value) => value.toString(16)).join(":");
  if (run.length < 2) return hex(values);
  return `${hex(values.slice(0, run.start))}::${hex(values.slice(run.start + run.length))}`;
}

function longestZeroRun(values: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (const [i, value] of values.entries()) {
    if (value !== 0) start = i + 1;
    else if (i + 1 - start > best.length) best = { start, length: i + 1 - start };
  }
  return best;
}

/**
 * `10.0.0.0/8` or `fd00::/8` to a prefix. A block of mapped addresses (`::ffff:10.0.0.0/104`) becomes the IPv4
 * block that it means, so that no spelling of a block is wider than it looks.
 * @returns a sentence that says what is wrong, for an operator, where it is not a block
 */
export function parsePrefix(text: string): Prefix | string {
  const [address = "", lengthText = "", ...rest] = text.split("/");
  const bytes = parseAddress(address);
  if (bytes === undefined || rest.length > 0 || !/^[0-9]{1,3}$/.test(lengthText)) {
    return `"${text}" is not a CIDR block such as 10.1.0.0/16 or fd12::/48`;
  }
  const length = Number(lengthText);
  if (length > bytes.length * 8) return `"${text}" has a prefix longer than the address`;
  if (!equalBytes(maskBytes(bytes, length), bytes)) {
    return `"${text}" has bits set after its prefix; write ${formatAddress(maskBytes(bytes, length))}/${length}`;
  }
  const mapped = length >= 96 ? mappedV4(bytes) : undefined;
  return mapped === undefined ? { bytes, length } : { bytes: mapped, length: length - 96 };
}

/** The IPv4 address inside `::ffff:0:0/96`; the kernel treats both as the same destination. */
export function mappedV4(bytes: AddressBytes): AddressBytes | undefined {
  if (bytes.length !== 16 || bytes[10] !== 0xff || bytes[11] !== 0xff) return undefined;
  return bytes.subarray(0, 10).every((byte) => byte === 0) ? bytes.slice(12) : undefined;
}

export function inPrefix(bytes: AddressBytes, prefix: Prefix): boolean {
  if (bytes.length !== prefix.bytes.length) return false;
  const whole = prefix.length >> 3;
  for (let i = 0; i < whole; i++) if (bytes[i] !== prefix.bytes[i]) return false;
  const rest = prefix.length & 7;
  if (rest === 0) return true;
  const mask = (0xff00 >> rest) & 0xff;
  return ((bytes[whole] ?? 0) & mask) === (prefix.bytes[whole] ?? 0);
}

export function equalBytes(a: AddressBytes, b: AddressBytes): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

function maskBytes(bytes: AddressBytes, length: number): AddressBytes {
  return bytes.map((byte, i) => {
    const kept = Math.min(8, Math.max(0, length - 8 * i));
    return byte & ((0xff00 >> kept) & 0xff);
  });
}
