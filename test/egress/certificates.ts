import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { parseAddress } from "../../src/egress/address.ts";

/** A throw-away certificate authority: X.509 written by hand, so that the tests need no program and no network. */
export interface Authority {
  /** PEM of the root. */
  readonly ca: string;
  issue(subject: {
    readonly names?: readonly string[];
    readonly addresses?: readonly string[];
    readonly expired?: boolean;
    /** From when and until when, in milliseconds from now, in place of a year. */
    readonly valid?: readonly [from: number, to: number];
  }): {
    readonly key: string;
    readonly cert: string;
  };
}

export function createAuthority(commonName = "Egress test root"): Authority {
  const root = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = name(commonName);
  const year = 365 * 86_400_000;
  const certificate = (
    subject: Buffer,
    publicKey: KeyObject,
    extensions: Buffer,
    [from, to]: readonly [number, number],
  ) => {
    const body = sequence(
      explicit(0, integer(Buffer.of(2))),
      integer(Buffer.concat([Buffer.of(0x01), randomBytes(15)])),
      ECDSA_SHA256,
      issuer,
      sequence(time(from), time(to)),
      subject,
      publicKey.export({ type: "spki", format: "der" }),
      explicit(3, extensions),
    );
    const signature = sign("sha256", body, root.privateKey);
    return pem("CERTIFICATE", sequence(body, ECDSA_SHA256, bitString(signature)));
  };
  const now = Date.now();
  const basic = (isCa: boolean) =>
    extension("551d13", true, sequence(...(isCa ? [Buffer.of(1, 1, 0xff)] : [])));
  return {
    ca: certificate(issuer, root.publicKey, sequence(basic(true)), [now - 2 * year, now + year]),
    issue({ names = [], addresses = [], expired = false, valid }) {
      const leaf = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const alternatives = [
        ...names.map((dns) => der(0x82, Buffer.from(dns))),
        ...addresses.map((address) => der(0x87, Buffer.from(parseAddress(address) ?? []))),
      ];
      const extensions = sequence(basic(false), extension("551d11", false, sequence(...alternatives)));
      const given = valid === undefined ? undefined : ([now + valid[0], now + valid[1]] as const);
      const validity =
        given ??
        (expired ? ([now - year, now - 86_400_000] as const) : ([now - 86_400_000, now + year] as const));
      return {
        key: leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
        cert: certificate(name("receiver"), leaf.publicKey, extensions, validity),
      };
    },
  };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const n = content.length;
  const length = n < 128 ? Buffer.of(n) : n < 256 ? Buffer.of(0x81, n) : Buffer.of(0x82, n >> 8, n & 0xff);
  return Buffer.concat([Buffer.of(tag), length, content]);
}

const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts);
const integer = (value: Buffer) => der(0x02, value);
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
const bitString = (value: Buffer) => der(0x03, Buffer.of(0), value);
const explicit = (n: number, value: Buffer) => der(0xa0 + n, value);
const ECDSA_SHA256 = sequence(oid("2a8648ce3d040302"));

function name(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(commonName)))));
}

function time(ms: number): Buffer {
  const text = new Date(ms)
    .toISOString()
    .replace(/[-:T]/g, "")
    .replace(/\.\d+Z$/, "Z");
  return der(0x18, Buffer.from(text));
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(critical ? [Buffer.of(1, 1, 0xff)] : []), der(0x04, value));
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString("base64").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
