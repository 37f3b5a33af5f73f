import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** PEM texts of a key and of a certificate that is its own authority. */
export interface SelfSigned {
  readonly key: string;
  readonly cert: string;
}

const DAY_MS = 86_400_000;

/**
 * A certificate for `localhost` and the loopback addresses, signed by itself, good for 30 days: for a receiver on this
 * machine and nothing else. Written by hand (X.509 v3 in DER), because Node reads certificates and makes none.
 */
export function selfSigned(now = Date.now()): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(set(sequence(oid("550403"), utf8("baton push receiver"))));
  const alternatives = sequence(
    tagged(0x82, Buffer.from("localhost")),
    tagged(0x87, Buffer.of(127, 0, 0, 1)),
    tagged(0x87, Buffer.concat([Buffer.alloc(15), Buffer.of(1)])),
  );
  const extensions = sequence(
    sequence(oid("551d13"), TRUE, octets(sequence(TRUE))),
    sequence(oid("551d11"), octets(alternatives)),
  );
  const body = sequence(
    tagged(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    name,
    sequence(utcTime(now - DAY_MS), utcTime(now + 30 * DAY_MS)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, extensions),
  );
  const signature = sign("sha256", body, privateKey);
  const certificate = sequence(
    body,
    ECDSA_WITH_SHA256,
    tagged(0x03, Buffer.concat([Buffer.of(0), signature])),
  );
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate
      .toString("base64")
      .replace(/(.{64})/g, "$1\n")
      .trimEnd()}\n-----END CERTIFICATE-----\n`,
  };
}

/** One DER element: tag, length, content. */
function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

const sequence = (...parts: Buffer[]) => tagged(0x30, Buffer.concat(parts));
const set = (...parts: Buffer[]) => tagged(0x31, Buffer.concat(parts));
const oid = (hex: string) => tagged(0x06, Buffer.from(hex, "hex"));
const integer = (bytes: Buffer) => tagged(0x02, bytes);
const octets = (bytes: Buffer) => tagged(0x04, bytes);
const utf8 = (text: string) => tagged(0x0c, Buffer.from(text));
const utcTime = (ms: number) =>
  tagged(0x17, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replace(/[-:T]/g, "")}Z`));
const TRUE = Buffer.of(0x01, 0x01, 0xff);
const ECDSA_WITH_SHA256 = sequence(oid("2a8648ce3d040302"));
