import { generateKeyPairSync } from "node:crypto";
import { generateAgentCardSignature, AgentCard as SdkCard, verifyAgentCardSignature } from "@a2a-js/sdk";
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import {
  base64url,
  CompactSign,
  decodeProtectedHeader,
  exportJWK,
  FlattenedSign,
  importJWK,
  type JWK,
} from "jose";
import { describe, expect, it, vi } from "vitest";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { canonical, canonicalForms } from "../../src/service/card-canonical.ts";
import { parseSigningKey, publicKeySet, type SigningKey } from "../../src/service/card-keys.ts";
import { type FindKey, signCard, type VerificationKey, verifyCard } from "../../src/service/card-signing.ts";
import { printCard } from "../../src/transports/v03/translate/kind/card.ts";

const CARD = {
  name: "Bücher \u{1F4DA}",
  description: 'Keeps "books"\nand \u20ac.',
  version: "1.0.0",
  supportedInterfaces: [{ url: "https://a.example", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  capabilities: { streaming: false, pushNotifications: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "s", name: "S", description: "Does it.", tags: ["t"] }],
};
const cardOf = (change: JsonObject = {}): AgentCard => fromJson(AgentCardSchema, { ...CARD, ...change });

const PEM = {
  ES256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  EdDSA: () => generateKeyPairSync("ed25519"),
  RS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  PS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
} as const;

function keyOf(algorithm: keyof typeof PEM = "ES256", kid = "k1"): SigningKey {
  const pem = PEM[algorithm]().privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return parseSigningKey(pem, { kid, algorithm, where: "test" });
}

const finder =
  (keys: readonly SigningKey[], change: Partial<VerificationKey> = {}): FindKey =>
  async (kid) => {
    const jwk = publicKeySet(keys).keys.find((key) => key.kid === kid);
    return jwk === undefined ? undefined : { ...jwk, ...change };
  };

async function signedJson(card: AgentCard, keys: readonly SigningKey[]): Promise<JsonObject> {
  return printCard(await signCard(card, keys, printCard));
}

const goodness = async (json: JsonObject, findKey: FindKey) =>
  (await verifyCard(json, findKey)).map(({ valid, reason }) => (valid ? "good" : reason));

describe("the canonical form", () => {
  it("A2A-184 follows RFC 8785: order by UTF-16 units, shortest numbers, no ASCII escaping", () => {
    const rfc = {
      numbers: [JSON.parse("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001, -0, 1e21],
      string: "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
      literals: [null, true, false],
    };
    expect(canonical(rfc)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0,1e+21],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
    const keys = { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\u{1f600}": 5, "\u0080": 6, "\u00f6": 7 };
    expect(canonical(keys)).toBe('{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}');
  });

  it("A2A-184 refuses what JSON cannot say", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, "\ud800"]) {
      expect(() => canonical({ value })).toThrow();
    }
  });

  it("A2A-184 A2A-186 keeps REQUIRED members although empty and set booleans although false, and no defaults", () => {
    const card = cardOf({
      documentationUrl: "",
      skills: [{ id: "s", name: "S", description: "", tags: [], examples: [] }],
    });
    const [protocol, sdk] = canonicalForms(printCard(card)).map((bytes) => new TextDecoder().decode(bytes));
    expect(protocol).toContain('"skills":[{"description":"","id":"s","name":"S","tags":[]}]');
    expect(sdk).toContain('"skills":[{"id":"s","name":"S"}]');
    for (const form of [protocol, sdk]) {
      expect(form).toContain('"streaming":false');
      expect(form).toContain("Bücher 📚");
      expect(form).not.toMatch(/extendedAgentCard|examples|securitySchemes|tenant|signatures/);
    }
    expect(canonicalForms(printCard(cardOf()))).toHaveLength(1);
  });
});

describe("signing", () => {
  it.each(Object.keys(PEM) as (keyof typeof PEM)[])(
    "A2A-185 %s signs, with alg, kid and typ",
    async (algorithm) => {
      const key = keyOf(algorithm);
      const json = await signedJson(cardOf(), [key]);
      const [signature] = json.signatures as { protected: string; signature: string }[];
      expect(decodeProtectedHeader(signature ?? {})).toEqual({ alg: algorithm, kid: "k1", typ: "JOSE" });
      expect(await goodness(json, finder([key]))).toEqual(["good"]);
    },
  );

  it("A2A-186 A2A-190 the official SDK verifies what we sign, with empty required members too", async () => {
    // The SDK reports each signature that does not match.
    vi.spyOn(console, "debug").mockImplementation(() => {});
    const key = keyOf();
    const jwk = publicKeySet([key]).keys[0] as JWK;
    const empty = {
      skills: [{ id: "s", name: "S", description: "", tags: [] }],
      securityRequirements: BEARER,
    };
    for (const card of [cardOf(), cardOf(empty)]) {
      const json = await signedJson(card, [key]);
      const verify = verifyAgentCardSignature(async () => importJWK(jwk, "ES256") as never);
      await expect(verify(SdkCard.fromJSON(json))).resolves.toBeUndefined();
      await expect(verify(SdkCard.fromJSON({ ...json, name: "Other" }))).rejects.toThrow();
    }
  });

  it("A2A-186 we verify what the official SDK signs", async () => {
    const key = keyOf();
    const sign = generateAgentCardSignature(key.key, { alg: "ES256", kid: "k1", typ: "JOSE" });
    for (const change of [{}, { skills: [{ id: "s", name: "S", description: "", tags: [] }] }]) {
      const signed = await sign(SdkCard.fromJSON({ ...CARD, ...change }));
      const json = printCard(fromJson(AgentCardSchema, SdkCard.toJSON(signed) as JsonObject));
      expect(await goodness(json, finder([key]))).toEqual(["good"]);
    }
  });

  it("A2A-189 two keys sign side by side, and either is enough", async () => {
    const [old, next] = [keyOf("ES256", "old"), keyOf("EdDSA", "next")];
    const json = await signedJson(cardOf(), [old, next]);
    expect(await goodness(json, finder([old]))).toEqual(["good", "the key is not known"]);
    expect(await goodness(json, finder([next]))).toEqual(["the key is not known", "good"]);
    const added = await signCard(await signCard(cardOf(), [old], printCard), [next], printCard);
    expect(await goodness(printCard(added), finder([old, next]))).toEqual(["good", "good"]);
  });

  it("A2A-190 an unsigned card is as it was", async () => {
    expect(await signedJson(cardOf(), [])).toEqual(printCard(cardOf()));
    expect(await verifyCard(printCard(cardOf()), finder([]))).toEqual([]);
  });
});

describe("verifying", () => {
  it.each<[string, JsonObject]>([
    ["another name", { name: "Evil" }],
    [
      "another address",
      { supportedInterfaces: [{ ...CARD.supportedInterfaces[0], url: "https://evil.example" }] },
    ],
    ["a skill more", { skills: [...CARD.skills, { ...CARD.skills[0], id: "x" }] }],
    ["a flag set", { capabilities: { ...CARD.capabilities, streaming: true } }],
    ["a flag gone", { capabilities: { pushNotifications: true } }],
    ["an icon", { iconUrl: "https://evil.example/i.png" }],
  ])("A2A-184 a card with %s does not verify", async (_, change) => {
    const key = keyOf();
    const signed = await signedJson(cardOf(), [key]);
    const json = printCard(fromJson(AgentCardSchema, { ...signed, ...change } as JsonObject));
    expect(await goodness(json, finder([key]))).toEqual(["the signature does not match the card"]);
  });

  it("A2A-185 no algorithm, a symmetric one and one that is not on the list are refused, whatever the key", async () => {
    const key = keyOf();
    const [payload] = canonicalForms(printCard(cardOf()));
    if (payload === undefined) throw new Error("no form");
    const secret = new TextEncoder().encode("a secret that is long enough for it");
    const hs = await new FlattenedSign(payload).setProtectedHeader({ alg: "HS256", kid: "k1" }).sign(secret);
    const none = base64url.encode(JSON.stringify({ alg: "none", kid: "k1" }));
    const wide = generateKeyPairSync("ec", { namedCurve: "P-384" });
    const es384 = await new FlattenedSign(payload)
      .setProtectedHeader({ alg: "ES384", kid: "k1" })
      .sign(wide.privateKey);
    const signatures = [
      { protected: hs.protected ?? "", signature: hs.signature },
      { protected: none, signature: "" },
      { protected: es384.protected ?? "", signature: es384.signature },
    ];
    const octets: FindKey = async () => ({ kty: "oct", k: base64url.encode(secret) });
    for (const find of [finder([key]), octets]) {
      expect(await goodness({ ...printCard(cardOf()), signatures }, find)).toEqual(
        Array(3).fill("the algorithm is not accepted"),
      );
    }
  });

  it("A2A-185 a signature without kid, with another alg than its key, or of garbage is refused", async () => {
    const key = keyOf();
    const [payload] = canonicalForms(printCard(cardOf()));
    if (payload === undefined) throw new Error("no form");
    const nameless = await new FlattenedSign(payload).setProtectedHeader({ alg: "ES256" }).sign(key.key);
    const signatures = [
      { protected: nameless.protected ?? "", signature: nameless.signature },
      { protected: "!", signature: "!" },
      {},
      { protected: base64url.encode('{"alg":"ES256","kid":"k1"}'), signature: "AAAA" },
    ];
    const json = { ...printCard(cardOf()), signatures };
    const verdicts = await goodness(json, finder([key]));
    expect(verdicts).toEqual([
      "the signature names no key",
      "the signature cannot be read",
      "the signature cannot be read",
      "the signature does not match the card",
    ]);
    const signed = await signedJson(cardOf(), [key]);
    expect(await goodness(signed, finder([key], { alg: "EdDSA" }))).toEqual([
      "the key is for another algorithm",
    ]);
  });

  it("A2A-187 keys that expired, are revoked or not valid yet do not verify", async () => {
    const key = keyOf();
    const json = await signedJson(cardOf(), [key]);
    const now = Math.floor(Date.now() / 1000);
    expect(await goodness(json, finder([key], { exp: now + 60, nbf: now - 60 }))).toEqual(["good"]);
    expect(await goodness(json, finder([key], { exp: now - 1 }))).toEqual(["the key has expired"]);
    expect(await goodness(json, finder([key], { nbf: now + 60 }))).toEqual(["the key is not valid yet"]);
    expect(await goodness(json, finder([key], { revoked: { revoked_at: now } }))).toEqual([
      "the key is revoked",
    ]);
    vi.useFakeTimers({ now: (now + 120) * 1000, toFake: ["Date"] });
    try {
      expect(await goodness(json, finder([key], { exp: now + 60 }))).toEqual(["the key has expired"]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("A2A-184 a signature over other bytes than the card, such as an attached payload, is worth nothing", async () => {
    const key = keyOf();
    const compact = await new CompactSign(new TextEncoder().encode('{"name":"x"}'))
      .setProtectedHeader({ alg: "ES256", kid: "k1", typ: "JOSE" })
      .sign(key.key);
    const [header = "", , signature = ""] = compact.split(".");
    const json = { ...printCard(cardOf()), signatures: [{ protected: header, signature }] };
    expect(await goodness(json, finder([key]))).toEqual(["the signature does not match the card"]);
  });
});

describe("signing keys", () => {
  it("A2A-185 PEM and JWK are read, with kid and algorithm of the JWK", async () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const jwk = { ...(await exportJWK(privateKey)), kid: "mine", alg: "EdDSA" };
    expect(parseSigningKey(JSON.stringify(jwk), { where: "x" })).toMatchObject({
      kid: "mine",
      algorithm: "EdDSA",
    });
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    expect(parseSigningKey(pem, { kid: "k", where: "x" }).algorithm).toBe("EdDSA");
    const set = JSON.stringify(publicKeySet([parseSigningKey(pem, { kid: "k", where: "x" })]));
    expect(set).not.toContain(String(jwk.d));
  });

  it("A2A-185 keys that cannot sign cards are refused in words that do not quote them", () => {
    const pem = (pair: { privateKey: { export(o: { type: "pkcs8"; format: "pem" }): string | Buffer } }) =>
      pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const faults: [string, { kid?: string; algorithm?: "ES256" | "RS256" }, RegExp][] = [
      ["nonsense", { kid: "k" }, /no private key/],
      ["{}", { kid: "k" }, /no private key/],
      [pem(generateKeyPairSync("ed25519")), {}, /no kid/],
      [pem(generateKeyPairSync("ec", { namedCurve: "secp256k1" })), { kid: "k" }, /signs no cards/],
      [pem(generateKeyPairSync("ed25519")), { kid: "k", algorithm: "RS256" }, /cannot sign with RS256/],
      [pem(generateKeyPairSync("rsa", { modulusLength: 1024 })), { kid: "k" }, /2048 bits/],
    ];
    for (const [text, options, words] of faults) {
      expect(() => parseSigningKey(text, { ...options, where: "the file" })).toThrow(words);
    }
  });
});

const BEARER = [{ schemes: { bearer: { list: [] } } }];
