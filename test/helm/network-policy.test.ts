import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { inPrefix, type Prefix, parseAddress, parsePrefix } from "../../src/egress/address.ts";
import { METADATA_ADDRESSES } from "../../src/egress/metadata.ts";
import { SPECIAL_RANGES } from "../../src/egress/special-purpose.ts";
import { CHART, helm, type Manifest, manifests, one, templateText } from "./helm.ts";
import { VALUE_SETS } from "./value-sets.ts";

const PUBLIC = ["0.0.0.0/0", "2000::/3"];

function prefix(cidr: string): Prefix {
  const parsed = parsePrefix(cidr);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

async function policyOf(set: string): Promise<Manifest> {
  return one(manifests(await templateText(VALUE_SETS[set] ?? {})), "NetworkPolicy", "release-baton").spec;
}

function blocks(policy: Manifest): { cidr: string; except?: string[] }[] {
  return policy.egress.flatMap(({ to = [] }: Manifest) =>
    to.flatMap(({ ipBlock }: Manifest) => ipBlock ?? []),
  );
}

describe.skipIf(helm === undefined)("the network policy and the egress guard", () => {
  it("H10 lets nothing out to an address that the guard would refuse without the operator's word", async () => {
    const open = blocks(await policyOf("Redis address in a secret"));
    expect(open.map(({ cidr }) => cidr)).toEqual(PUBLIC);
    const isOpen = (address: Uint8Array) =>
      open.some(
        ({ cidr, except = [] }) =>
          inPrefix(address, prefix(cidr)) && !except.some((hole) => inPrefix(address, prefix(hole))),
      );
    for (const range of SPECIAL_RANGES) {
      // The catch-all row of IPv6 is what lies outside of 2000::/3, to which nothing is open.
      if (range.verdict === "allow" || range.cidr === "::/0") continue;
      expect(isOpen(range.prefix.bytes), `${range.cidr} ${range.name}`).toBe(false);
    }
    for (const text of METADATA_ADDRESSES) {
      const address = parseAddress(text);
      if (address === undefined) throw new Error(text);
      expect(isOpen(address), text).toBe(false);
    }
    for (const text of ["1.1.1.1", "93.184.216.34", "2606:4700::1111"]) {
      const address = parseAddress(text);
      expect(address !== undefined && isOpen(address), text).toBe(true);
    }
  });

  it("holds in its lists only what the guard refuses as well", () => {
    const files = ["not-public-ipv4.txt", "not-public-ipv6.txt"];
    const lines = files.flatMap((name) => readFileSync(`${CHART}/files/${name}`, "utf8").trim().split("\n"));
    const refused = new Set(
      SPECIAL_RANGES.filter(({ verdict }) => verdict !== "allow").map(({ cidr }) => cidr),
    );
    for (const cidr of lines) {
      expect(refused.has(cidr) || METADATA_ADDRESSES.includes(cidr.replace("/32", "")), cidr).toBe(true);
    }
  });

  it("opens what config.push opens, on its ports", async () => {
    const { egress } = await policyOf("pushes into the operator's own network");
    const of = (cidr: string) =>
      egress.find(({ to = [] }: Manifest) => to.some(({ ipBlock }: Manifest) => ipBlock?.cidr === cidr))
        ?.ports;
    const tcp = (port: number, endPort?: number) => ({
      protocol: "TCP",
      port,
      ...(endPort === undefined ? {} : { endPort }),
    });
    expect(of("0.0.0.0/0")).toEqual([tcp(443), tcp(8000, 8100)]);
    expect(of("10.20.0.0/16")).toEqual([tcp(80), tcp(9000, 9010)]);
    expect(of("10.30.0.7/32")).toEqual([tcp(443), tcp(8000, 8100)]);
    expect(of("fd12::7/128")).toEqual([tcp(443), tcp(8000, 8100)]);
    expect(of("10.9.0.0/24")).toEqual([tcp(6380)]);
  });

  it("lets traces out to their collector, on its port and nowhere else", async () => {
    const { egress } = await policyOf("traces");
    const to = [{ namespaceSelector: { matchLabels: { name: "observability" } } }];
    expect(egress).toContainEqual({ ports: [{ protocol: "TCP", port: 4318 }], to });
    const values = {
      ...VALUE_SETS["the least"],
      config: { telemetry: { traces: { otlpUrl: "https://traces.example.com/v1/traces" } } },
    };
    const anywhere = one(manifests(await templateText(values)), "NetworkPolicy").spec.egress;
    expect(anywhere).toContainEqual({ ports: [{ protocol: "TCP", port: 443 }] });
  });

  it("opens no way to the world where there are no pushes", async () => {
    expect(blocks(await policyOf("the least"))).toEqual([]);
  });

  it("H19 takes rules of the operator, and lets in to the admin port whom they name", async () => {
    const { ingress } = await policyOf("monitoring");
    const admin = ingress.find(({ ports }: Manifest) => ports[0].port === "admin");
    expect(admin.from).toContainEqual({ namespaceSelector: { matchLabels: { name: "monitoring" } } });
    const extra = { to: [{ ipBlock: { cidr: "10.1.2.3/32" } }] };
    const values = {
      ...VALUE_SETS["the least"],
      networkPolicy: { extraEgress: [extra], extraIngress: [{}] },
    };
    const policy = one(manifests(await templateText(values)), "NetworkPolicy").spec;
    expect(policy.egress).toContainEqual(extra);
    expect(policy.ingress).toContainEqual({});
  });

  it("lets the release's own test in to both ports, whoever else may come", async () => {
    const from = [{ namespaceSelector: { matchLabels: { name: "clients" } } }];
    const values = { ...VALUE_SETS["the least"], networkPolicy: { ingressFrom: from } };
    const { ingress } = one(manifests(await templateText(values)), "NetworkPolicy").spec;
    expect(ingress[0].from).toContainEqual(from[0]);
    for (const rule of ingress) {
      const pods = rule.from.map(({ podSelector }: Manifest) => podSelector?.matchLabels);
      expect(pods).toContainEqual(expect.objectContaining({ "app.kubernetes.io/component": "test" }));
    }
  });

  it("reaches Redis on the ports of its address and its nodes", async () => {
    const ports = async (set: string) =>
      (await policyOf(set)).egress[1].ports.map(({ port }: Manifest) => port);
    expect(await ports("the least")).toEqual([6379]);
    expect(await ports("Sentinel")).toEqual([26379, 6379]);
    expect(await ports("Cluster")).toEqual([7000, 6379]);
  });
});
