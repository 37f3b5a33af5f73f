import { networkInterfaces } from "node:os";
import {
  type AddressBytes,
  METADATA_ADDRESSES,
  type Prefix,
  parseAddress,
  parsePrefix,
} from "../../../egress/index.ts";
import { egressProblems } from "../../../server/egress-settings.ts";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, warning } from "../finding.ts";

/** Wider blocks are more than a network of receivers. */
const WIDE = { 4: 16, 16: 48 } as const;

export const egress: Check = {
  name: "egress policy",
  about:
    "What is opened in the egress guard is narrow, holds neither metadata services nor Baton itself, and is encrypted.",
  needs: ["push", "identity", "listen", "admin"],
  run({ config }) {
    const { push, identity, listen, admin } = config;
    const findings: Finding[] = egressProblems(config).map((problem) =>
      fault(
        problem,
        "Correct the setting; `baton serve` does not start with it. docs/secure-egress.md explains.",
      ),
    );
    const entries = [
      ...push.allow.map((entry, index) => ({ ...entry, setting: `push.allow.${index}` })),
      ...identity.allow.map((entry, index) => ({
        ...entry,
        plaintext: false,
        setting: `identity.allow.${index}`,
      })),
    ];
    for (const { setting, cidr, ports, plaintext } of entries) {
      const prefix = parsePrefix(cidr);
      // What is no block has been told above.
      if (typeof prefix === "string" || prefix.length === 0) continue;
      const what = `${setting}: ${cidr}`;
      const metadata = METADATA_ADDRESSES.find((address) => isIn(address, prefix));
      if (metadata !== undefined) {
        findings.push(
          warning(
            `${what} holds the metadata address ${metadata}, which the guard refuses all the same`,
            "Name a block without it: whoever reads this should not have to know that.",
          ),
        );
      }
      if (prefix.length < (prefix.bytes.length === 4 ? WIDE[4] : WIDE[16])) {
        findings.push(
          warning(
            `${what} is wide: every caller with push may send requests to all of it`,
            "Name the receivers' own block, and their ports.",
          ),
        );
      }
      if (plaintext) {
        findings.push(
          warning(`${what} allows http: credentials of receivers travel in clear`, "Give the receivers TLS."),
        );
      }
      const mine = [
        { port: listen.port, what: "listen.port" },
        { port: admin.port, what: "admin.port" },
      ].find((own) => holdsPort(ports ?? push.ports, own.port));
      if (mine !== undefined && ownAddresses().some((address) => inside(address, prefix))) {
        findings.push(
          warning(
            `${what} holds this machine with ${mine.what} ${mine.port}, which the guard refuses all the same`,
            "Name the receivers' own block and ports.",
          ),
        );
      }
    }
    if (findings.length > 0) return findings;
    return [ok(entries.length === 0 ? "nothing private is opened" : `${entries.length} narrow entries`)];
  },
};

function holdsPort(ports: readonly (number | string)[], port: number): boolean {
  return ports.some((each) => {
    const [from = Number.NaN, to = from] = String(each).split("-").map(Number);
    return from <= port && port <= to;
  });
}

function ownAddresses(): AddressBytes[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .flatMap(({ address }) => parseAddress(address.split("%")[0] ?? "") ?? []);
}

function isIn(address: string, prefix: Prefix): boolean {
  const bytes = parseAddress(address);
  return bytes !== undefined && inside(bytes, prefix);
}

function inside(address: AddressBytes, { bytes, length }: Prefix): boolean {
  if (address.length !== bytes.length) return false;
  for (let bit = 0; bit < length; bit++) {
    const mask = 0x80 >> (bit & 7);
    if (((address[bit >> 3] ?? 0) & mask) !== ((bytes[bit >> 3] ?? 0) & mask)) return false;
  }
  return true;
}
