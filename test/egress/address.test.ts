import { BlockList, isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inPrefix, type Prefix } from "../../src/egress/address.ts";
import { embeddedV4, formatAddress, parseAddress, parsePrefix } from "../../src/egress/index.ts";

const v4 = fc.uint8Array({ minLength: 4, maxLength: 4 });
// Zero bytes are common, so that compressed forms and the special low prefixes come up.
const v6 = fc
  .array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 255 })), { minLength: 16, maxLength: 16 })
  .map((bytes) => Uint8Array.from(bytes));

function bytesOf(text: string): Uint8Array {
  const bytes = parseAddress(text);
  if (bytes === undefined) throw new TypeError(text);
  return bytes;
}

function prefixOf(text: string): Prefix {
  const prefix = parsePrefix(text);
  if (typeof prefix === "string") throw new TypeError(prefix);
  return prefix;
}

describe("OW-39 addresses are bytes", () => {
  it("every address survives text and back, and its text is canonical", () => {
    fc.assert(
      fc.property(fc.oneof(v4, v6), (bytes) => {
        const text = formatAddress(bytes);
        expect(isIP(text)).toBe(bytes.length === 4 ? 4 : 6);
        expect(parseAddress(text)).toEqual(bytes);
        if (bytes.length === 16) expect(new URL(`https://[${text}]/`).hostname).toBe(`[${text}]`);
      }),
      { numRuns: 1000 },
    );
  });

  it("reads no text that the platform does not read", () => {
    const nearly = fc.stringMatching(/^[0-9a-f:.%x]{1,24}$/);
    fc.assert(
      fc.property(nearly, (text) => {
        expect(parseAddress(text) !== undefined).toBe(isIP(text) !== 0 && !text.includes("%"));
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    "",
    "1.2.3",
    "1.2.3.4.5",
    "01.2.3.4",
    "0x7f.0.0.1",
    "256.1.1.1",
    "1.2.3.4 ",
    "2130706433",
    "fe80::1%eth0",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8:9",
    "::1.2.3",
    "1.2.3.4::",
    "::12345",
    "::ffff:1.2.3.4:5",
    "[::1]",
    "localhost",
    "1:2:3:4:5:6:7:8::",
  ])("S10 S17 refuses %j", (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });

  it("blocks hold exactly what the platform's own block list holds", () => {
    fc.assert(
      fc.property(fc.oneof(v4, v6), fc.nat(128), fc.nat(127), (bytes, lengthSeed, flip) => {
        const bits = bytes.length * 8;
        const length = lengthSeed % (bits + 1);
        const masked = bytes.map(
          (byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, length - 8 * i))) & 0xff,
        );
        const prefix = { bytes: masked, length };
        const family = bits === 32 ? "ipv4" : "ipv6";
        const list = new BlockList();
        list.addSubnet(formatAddress(masked), length, family);
        const other = bytes.slice();
        other[(flip % bits) >> 3] = (other[(flip % bits) >> 3] ?? 0) ^ (0x80 >> (flip & 7));
        for (const candidate of [bytes, other]) {
          expect(inPrefix(candidate, prefix)).toBe(list.check(formatAddress(candidate), family));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("reads CIDR blocks, turns mapped ones into IPv4, and explains a bad one", () => {
    expect(prefixOf("10.0.0.0/8")).toEqual({ bytes: bytesOf("10.0.0.0"), length: 8 });
    expect(prefixOf("::ffff:10.0.0.0/104")).toEqual({ bytes: bytesOf("10.0.0.0"), length: 8 });
    expect(parsePrefix("10.0.0.1/8")).toContain("10.0.0.0/8");
    for (const bad of [
      "10.0.0.0",
      "10.0.0.0/33",
      "::/129",
      "/8",
      "a/8",
      "10.0.0.0/8/8",
      "10.0.0.0/",
      "10.0.0.0/-1",
    ]) {
      expect(parsePrefix(bad)).toBeTypeOf("string");
    }
  });
});

describe("OW-39 S14 S16 S19 S20 S22 IPv4 inside IPv6", () => {
  const inside = (text: string, nat64: string[] = []) =>
    embeddedV4(bytesOf(text), nat64.map(prefixOf)).map(
      ({ form, v4: found }) => `${form} ${formatAddress(found)}`,
    );

  it.each([
    ["::ffff:192.0.2.33", ["ipv4-mapped 192.0.2.33"]],
    ["::192.0.2.33", ["ipv4-compatible 192.0.2.33"]],
    ["64:ff9b::192.0.2.33", ["nat64 192.0.2.33"]],
    ["64:ff9b:0:0:0:1:c000:221", []],
    ["2002:c000:221::1", ["6to4 192.0.2.33"]],
    // The example of RFC 4380: server 65.54.227.120, client 192.0.2.45.
    ["2001:0000:4136:e378:8000:63bf:3fff:fdd2", ["teredo-server 65.54.227.120", "teredo-client 192.0.2.45"]],
    ["2001:1:4136:e378:8000:63bf:3fff:fdd2", []],
    ["2a00:1450::5efe:c000:221", ["isatap 192.0.2.33"]],
    ["2a00:1450::200:5efe:c000:221", ["isatap 192.0.2.33"]],
    ["2a00:1450::100:5efe:c000:221", []],
    ["2002:c000:221:0:0:5efe:a00:1", ["6to4 192.0.2.33", "isatap 10.0.0.1"]],
    ["2606:4700:4700::1111", []],
    ["192.0.2.33", []],
  ])("%s", (text, expected) => {
    expect(inside(text)).toEqual(expected);
  });

  // RFC 6052 section 2.4, its own examples for 192.0.2.33.
  it.each([
    ["2001:db8::/32", "2001:db8:c000:221::"],
    ["2001:db8:100::/40", "2001:db8:1c0:2:21::"],
    ["2001:db8:122::/48", "2001:db8:122:c000:2:2100::"],
    ["2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"],
    ["2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"],
    ["2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"],
  ])("RFC 6052 %s", (prefix, text) => {
    expect(inside(text, [prefix])).toEqual(["nat64 192.0.2.33"]);
  });
});
