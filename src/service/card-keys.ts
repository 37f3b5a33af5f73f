import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import type { JWK } from "jose";
import type { SigningKeyConfig } from "../config/cards.ts";

/** Algorithms of card signatures: asymmetric, and known to every verifier (A2A-185). */
export const CARD_ALGORITHMS = ["ES256", "EdDSA", "RS256", "PS256"] as const;
export type CardAlgorithm = (typeof CARD_ALGORITHMS)[number];

/** A private key that signs cards. */
export interface SigningKey {
  readonly kid: string;
  readonly algorithm: CardAlgorithm;
  readonly key: KeyObject;
  readonly jku: string | undefined;
}

/** A signing key cannot be used; the message is a sentence for the operator and never quotes the key. */
export class SigningKeyError extends Error {
  override readonly name = "SigningKeyError";
}

/** Reads the configured keys. Throws {@link SigningKeyError}. */
export function loadSigningKeys(
  configs: readonly SigningKeyConfig[],
  environment: Readonly<Record<string, string | undefined>>,
): SigningKey[] {
  return configs.map(({ kid, file, env, algorithm, jku }) => {
    const where = file ?? `the variable ${env}`;
    let text: string | undefined;
    try {
      text = file === undefined ? environment[env ?? ""] : readFileSync(file, "utf8");
    } catch {
      // Told below.
    }
    if (text === undefined || text === "")
      throw new SigningKeyError(`card key ${kid}: ${where} cannot be read`);
    return parseSigningKey(text, { kid, algorithm, jku, where });
  });
}

/** Reads one private key: PEM, or a JWK in JSON. Throws {@link SigningKeyError}. */
export function parseSigningKey(
  text: string,
  options: {
    readonly kid?: string | undefined;
    readonly algorithm?: CardAlgorithm | undefined;
    readonly jku?: string | undefined;
    /** Where the key stands, for messages. */
    readonly where: string;
  },
): SigningKey {
  const { where } = options;
  const fail = (what: string): never => {
    throw new SigningKeyError(`card key of ${where}: ${what}`);
  };
  let key: KeyObject;
  let jwk: JWK = {};
  try {
    if (text.trimStart().startsWith("{")) {
      jwk = JSON.parse(text) as JWK;
      key = createPrivateKey({ key: jwk as JsonWebKeyInput, format: "jwk" });
    } else {
      key = createPrivateKey(text);
    }
  } catch {
    return fail("is no private key in PEM or JWK form");
  }
  const kid = options.kid ?? jwk.kid;
  if (kid === undefined || kid === "") return fail("has no kid; give one");
  const natural = naturalAlgorithms(key);
  const stated = options.algorithm ?? jwk.alg;
  const algorithm = stated === undefined ? natural[0] : natural.find((each) => each === stated);
  if (algorithm === undefined) {
    return fail(stated === undefined ? "is of a kind that signs no cards" : `cannot sign with ${stated}`);
  }
  const { modulusLength } = key.asymmetricKeyDetails ?? {};
  if (modulusLength !== undefined && modulusLength < 2048) return fail("has fewer than 2048 bits");
  return { kid, algorithm, key, jku: options.jku };
}

type JsonWebKeyInput = Extract<Parameters<typeof createPrivateKey>[0], { format: "jwk" }>["key"];

/** What a key of this kind signs with, the usual first. */
function naturalAlgorithms(key: KeyObject): readonly CardAlgorithm[] {
  switch (key.asymmetricKeyType) {
    case "ec":
      return key.asymmetricKeyDetails?.namedCurve === "prime256v1" ? ["ES256"] : [];
    case "ed25519":
      return ["EdDSA"];
    case "rsa":
      return ["RS256", "PS256"];
    case "rsa-pss":
      return ["PS256"];
    default:
      return [];
  }
}

/** The public halves, as verifiers take them. */
export function publicKeySet(keys: readonly SigningKey[]): { readonly keys: JWK[] } {
  return {
    keys: keys.map(({ key, kid, algorithm }) => ({
      ...(createPublicKey(key).export({ format: "jwk" }) as JWK),
      kid,
      alg: algorithm,
      use: "sig",
    })),
  };
}
