import { networkInterfaces } from "node:os";
import { describe, expect, it } from "vitest";
import {
  compilePolicy,
  EgressPolicyError,
  type EgressPolicyInput,
  formatAddress,
  judgeAddressText,
  judgeUrl,
  METADATA_ADDRESSES,
  SPECIAL_RANGES,
} from "../../src/egress/index.ts";

const open = compilePolicy();
const judge = (text: string, policy: EgressPolicyInput = {}, port = 443, plaintext = false) =>
  judgeAddressText(text, compilePolicy(policy), { port, plaintext });

describe("OW-39 the special-purpose table", () => {
  it("everything that IANA marks not globally reachable is refused, at both ends of each block", () => {
    const rows = SPECIAL_RANGES.filter(
      (range) => range.iana === "not-reachable" && range.verdict !== "unwrap",
    );
    expect(rows.length).toBe(32);
    for (const range of rows) {
      const last = range.prefix.bytes.map((byte, i) => {
        const kept = Math.min(8, Math.max(0, range.prefix.length - 8 * i));
        return byte | (0xff >> kept);
      });
      for (const bytes of [range.prefix.bytes, last]) {
        expect(judgeAddressText(formatAddress(bytes), open)?.allowed, formatAddress(bytes)).toBe(false);
      }
    }
  });

  it("has both registries whole: 26 IPv4 and 25 IPv6 blocks, none twice", () => {
    const listed = (registry: string) => SPECIAL_RANGES.filter((range) => range.source.includes(registry));
    expect(listed("IANA IPv4 special-purpose").length).toBe(26);
    expect(listed("IANA IPv6 special-purpose").length).toBe(25);
    expect(new Set(SPECIAL_RANGES.map((range) => range.cidr)).size).toBe(SPECIAL_RANGES.length);
  });

  it("the range that decided has a name, and so has the address inside", () => {
    expect(judge("64:ff9b::a00:1")).toEqual({
      address: "64:ff9b::a00:1",
      allowed: false,
      reason: "address_not_public",
      range: "private-10",
      embedded: { form: "nat64", address: "10.0.0.1" },
    });
  });
});

describe("S25 allow entries", () => {
  it.each([
    ["0.0.0.0/0", "switch the egress guard off"],
    ["::/0", "switch the egress guard off"],
    ["::ffff:0:0/96", "switch the egress guard off"],
    ["0.0.0.0/1", "never|too wide"],
    ["128.0.0.0/1", "too wide"],
    ["8.0.0.0/7", "too wide"],
    ["2000::/3", "too wide"],
    ["10.0.0.1/8", "10.0.0.0/8"],
    ["ten", "not a CIDR"],
    ["0.0.0.0/8", "no receiver"],
    ["::/128", "no receiver"],
    ["224.0.0.0/8", "no receiver"],
    ["ff02::/16", "no receiver"],
    ["255.255.255.255/32", "no receiver"],
    ...METADATA_ADDRESSES.map((address) => [`${address}/${address.includes(":") ? 128 : 32}`, "metadata"]),
  ])("refuses %s with a sentence", (cidr, sentence) => {
    expect(() => compilePolicy({ allow: [{ cidr }] })).toThrow(EgressPolicyError);
    expect(() => compilePolicy({ allow: [{ cidr }] })).toThrow(new RegExp(sentence));
  });

  it("opens its block and ports and nothing beside them", () => {
    const policy = { allow: [{ cidr: "10.20.0.0/16", ports: [8080, "9000-9002"] }] };
    expect(judge("10.20.1.1", policy, 8080)).toMatchObject({
      allowed: true,
      range: "private-10",
      allowedBy: "10.20.0.0/16 ports 8080,9000-9002",
    });
    expect(judge("::ffff:10.20.1.1", policy, 9002)).toMatchObject({ allowed: true });
    expect(judge("10.20.1.1", policy, 443)).toMatchObject({ allowed: false, reason: "port_not_allowed" });
    expect(judge("10.21.1.1", policy, 8080)).toMatchObject({ allowed: false, reason: "address_not_public" });
    expect(judge("10.20.1.1", policy, 8080, true)).toMatchObject({
      allowed: false,
      reason: "plaintext_not_allowed",
    });
    expect(judge("93.184.216.34", policy, 8080)).toMatchObject({
      allowed: false,
      reason: "port_not_allowed",
    });
  });

  it("does not open the tunnels that lead to the block", () => {
    const policy = { allow: [{ cidr: "10.0.0.0/8" }] };
    for (const address of ["64:ff9b::a00:1", "2002:a00:1::", "::10.0.0.1", "2606:4700::5efe:a00:1"]) {
      expect(judge(address, policy), address).toMatchObject({ allowed: false, range: "private-10" });
    }
  });

  it("OW-39 S20 S25 metadata stays refused inside an allowed block, in every embedding", () => {
    const policy: EgressPolicyInput = {
      allow: [
        "169.254.0.0/16",
        "100.64.0.0/10",
        "192.0.0.0/24",
        "168.63.0.0/16",
        "fd00::/8",
        "fe80::/10",
        "64:ff9b::/96",
        "2002::/16",
        "2001::/32",
        "64:ff9b:1::/48",
        "::ffff:0:0:0/96",
      ].map((cidr) => ({ cidr, ports: ["1-65535"] })),
      nat64Prefixes: ["fd64::/96"],
    };
    for (const address of [
      ...METADATA_ADDRESSES,
      ...METADATA_ADDRESSES.filter((a) => !a.includes(":")).flatMap((a) => [
        `::ffff:${a}`,
        `64:ff9b::${a}`,
        `64:ff9b:1::${a}`,
        `::ffff:0:${a}`,
        `fd64::${a}`,
        `fd12::5efe:${a}`,
      ]),
      "2002:a9fe:a9fe::1",
      "2001:0:a9fe:a9fe::1",
      "2001:0:0:0:0:0:5601:5601",
    ]) {
      expect(judge(address, policy), address).toMatchObject({ allowed: false, reason: "address_metadata" });
    }
    expect(judge("169.254.1.1", policy)).toMatchObject({ allowed: true });
  });

  it("OW-42 each hole is a sentence for the start log; no holes, no sentences", () => {
    expect(open.exceptions).toEqual([]);
    const policy = compilePolicy({ allow: [{ cidr: "10.0.0.0/8", plaintext: true }], allowNames: ["*.svc"] });
    expect(policy.exceptions).toEqual([
      "egress: http and https allowed to 10.0.0.0/8 ports 443,8443",
      "egress: internal name *.svc may be resolved",
    ]);
  });
});

describe("ports, names, listeners, NAT64 networks", () => {
  it("refuses ports that are none", () => {
    for (const port of [0, 65536, -1, 1.5, "", "a", "2-1", "1-", "0-5"]) {
      expect(() => compilePolicy({ ports: [port] }), String(port)).toThrow(EgressPolicyError);
    }
  });

  it("S29 an allowed name passes the name arm only; a metadata name cannot be allowed", () => {
    const policy = compilePolicy({ allowNames: ["*.svc.cluster.local", "hooks", "*.internal"] });
    for (const host of ["a.b.svc.cluster.local", "HOOKS", "x.internal."]) {
      expect(judgeUrl(`https://${host}/`, policy).target, host).toBeDefined();
    }
    for (const host of ["svc.cluster.local", "xsvc.cluster.local", "hooks.lan", "metadata.google.internal"]) {
      expect(judgeUrl(`https://${host}/`, policy).refusal, host).toMatchObject({ arm: "name" });
    }
    for (const name of [
      "metadata",
      "metadata.google.internal",
      "*.metadata.google.internal",
      "instance-data",
    ]) {
      expect(() => compilePolicy({ allowNames: [name] })).toThrow(/metadata/);
    }
    for (const name of ["*", "*.", "a.*.b", "http://x", "a b"]) {
      expect(() => compilePolicy({ allowNames: [name] })).toThrow(EgressPolicyError);
    }
  });

  it("our own listeners are refused, whatever is allowed, on every address of a wildcard", () => {
    const policy: EgressPolicyInput = {
      allow: [
        { cidr: "127.0.0.0/8", ports: ["1-65535"] },
        { cidr: "::1/128", ports: ["1-65535"] },
      ],
      ownListeners: [
        { address: "0.0.0.0", port: 7420 },
        { address: "127.0.0.1", port: 7421 },
      ],
    };
    const mine = Object.values(networkInterfaces())
      .flatMap((infos) => infos ?? [])
      .map((info) => info.address);
    for (const address of [...mine, "127.0.0.1", "127.9.9.9", "::ffff:127.0.0.1", "::1"]) {
      expect(judge(address, policy, 7420), address).toMatchObject({
        allowed: false,
        reason: "address_own_listener",
      });
    }
    expect(judge("127.0.0.1", policy, 7421)).toMatchObject({
      allowed: false,
      reason: "address_own_listener",
    });
    expect(judge("127.0.0.2", policy, 7421)).toMatchObject({ allowed: true });
    expect(judge("127.0.0.1", policy, 7422)).toMatchObject({ allowed: true });
  });

  it("S16 S17 an operator's NAT64 network is judged by what is inside", () => {
    const policy = { nat64Prefixes: ["64:ff9b:1::/96", "fd00:64::/48"] };
    expect(judge("64:ff9b:1::808:808", policy)).toMatchObject({ allowed: true });
    expect(judge("64:ff9b:1::808:808")).toMatchObject({ allowed: false, range: "nat64-local-use" });
    expect(judge("64:ff9b:1::a00:1", policy)).toMatchObject({ allowed: false, range: "private-10" });
    expect(judge("64:ff9b:1:1::808:808", policy)).toMatchObject({ allowed: false, range: "nat64-local-use" });
    expect(judge("fd00:64:0:808:8:800::", policy)).toMatchObject({ allowed: true });
    expect(judge("fd00:64:0:a00:0:100::", policy)).toMatchObject({ allowed: false, range: "private-10" });
    expect(judge("fd00:64:0:808:108:800::", policy), "byte 8 is not zero").toMatchObject({ allowed: false });
    for (const bad of [
      "fd00:64::/50",
      "10.0.0.0/8",
      "2002::/32",
      "ff02::/32",
      "::/32",
      "2001:db8::/96",
      "fe80::/64",
    ]) {
      expect(() => compilePolicy({ nat64Prefixes: [bad] }), bad).toThrow(EgressPolicyError);
    }
  });

  it("OW-37 http needs an entry that says plaintext, and then only for its own block and ports", () => {
    const policy = compilePolicy({
      allow: [{ cidr: "127.0.0.0/8", ports: [8080], plaintext: true }],
      allowNames: ["localhost"],
    });
    expect(judgeUrl("http://localhost:8080/", policy).target).toBeDefined();
    expect(judgeUrl("http://localhost:8081/", policy).refusal).toMatchObject({ reason: "port_not_allowed" });
    expect(judgeUrl("http://localhost/", policy).refusal).toMatchObject({ reason: "port_not_allowed" });
    expect(judgeAddressText("93.184.216.34", policy, { port: 8080, plaintext: true })).toMatchObject({
      allowed: false,
    });
    expect(judgeAddressText("127.0.0.1", policy, { port: 8080, plaintext: true })).toMatchObject({
      allowed: true,
    });
  });
});
