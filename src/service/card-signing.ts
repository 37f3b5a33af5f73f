import { create, type JsonObject } from "@bufbuild/protobuf";
import { decodeProtectedHeader, FlattenedSign, flattenedVerify, importJWK, type JWK } from "jose";
import {
  type AgentCard,
  AgentCardSchema,
  type AgentCardSignature,
  AgentCardSignatureSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { canonicalForms } from "./card-canonical.ts";
import { CARD_ALGORITHMS, type SigningKey } from "./card-keys.ts";

/** Prints a card as the pure 1.0 form (A2A-190). */
export type PrintCard = (card: AgentCard) => JsonObject;

/**
 * The card with signatures by each key: detached JWS, its payload the card itself. Where an SDK would compute other bytes
 * than the protocol says, each key signs both, since one good signature is enough for a verifier (A2A-189).
 */
export async function signCard(
  card: AgentCard,
  keys: readonly SigningKey[],
  print: PrintCard,
): Promise<AgentCard> {
  if (keys.length === 0) return card;
  const forms = canonicalForms(print(card));
  const signatures = await Promise.all(
    keys.flatMap((key) => forms.map((payload) => signature(payload, key))),
  );
  const { $typeName: _, $unknown: __, ...fields } = card;
  return create(AgentCardSchema, { ...fields, signatures: [...card.signatures, ...signatures] });
}

async function signature(payload: Uint8Array, key: SigningKey): Promise<AgentCardSignature> {
  const { algorithm: alg, kid, jku } = key;
  const jws = await new FlattenedSign(payload)
    .setProtectedHeader({ alg, kid, typ: "JOSE", ...(jku === undefined ? {} : { jku }) })
    .sign(key.key);
  return create(AgentCardSignatureSchema, { protected: jws.protected ?? "", signature: jws.signature });
}

/** A public key with what a key set may say of its life; times in seconds since the epoch. */
export type VerificationKey = JWK & {
  readonly exp?: number;
  readonly nbf?: number;
  /** Present: the key is not to be trusted any more. */
  readonly revoked?: unknown;
};

/** Finds the key of a signature; `jku` is what the signature says, and proves nothing (A2A-188). */
export type FindKey = (kid: string, jku: string | undefined) => Promise<VerificationKey | undefined>;

/** What one signature of a card is worth. */
export interface SignatureVerdict {
  readonly kid: string;
  readonly algorithm: string;
  readonly valid: boolean;
  /** Why it is not; empty where it is. */
  readonly reason: string;
}

/**
 * Judges every signature of a card. `card` is the card as the protocol prints it: members that 1.0 does not know are
 * covered by no signature. The card is good where one signature is.
 */
export async function verifyCard(card: JsonObject, findKey: FindKey): Promise<SignatureVerdict[]> {
  const forms = canonicalForms(card);
  const signatures = Array.isArray(card.signatures) ? card.signatures : [];
  return Promise.all(
    signatures.map(async (entry) => {
      const { protected: header = "", signature: value = "" } = entry as Record<string, unknown>;
      return verifySignature({ protected: String(header), signature: String(value) }, forms, findKey);
    }),
  );
}

async function verifySignature(
  jws: { readonly protected: string; readonly signature: string },
  forms: readonly Uint8Array[],
  findKey: FindKey,
): Promise<SignatureVerdict> {
  let kid = "";
  let algorithm = "";
  const bad = (reason: string): SignatureVerdict => ({ kid, algorithm, valid: false, reason });
  try {
    const header = decodeProtectedHeader(jws);
    kid = header.kid ?? "";
    algorithm = header.alg ?? "";
    if (kid === "") return bad("the signature names no key");
    if (!(CARD_ALGORITHMS as readonly string[]).includes(algorithm))
      return bad("the algorithm is not accepted");
    const jwk = await findKey(kid, header.jku);
    if (jwk === undefined) return bad("the key is not known");
    const ended = keyFault(jwk, Date.now() / 1000);
    if (ended !== undefined) return bad(ended);
    if (jwk.alg !== undefined && jwk.alg !== algorithm) return bad("the key is for another algorithm");
    const key = await importJWK(jwk, algorithm);
    for (const payload of forms) {
      const verified = await flattenedVerify({ ...jws, payload: base64url(payload) }, key, {
        algorithms: [algorithm],
      }).then(
        () => true,
        () => false,
      );
      if (verified) return { kid, algorithm, valid: true, reason: "" };
    }
    return bad("the signature does not match the card");
  } catch (error) {
    return bad(error instanceof KeySourceError ? error.message : "the signature cannot be read");
  }
}

/** Keys could not be fetched; the message may be shown. */
export class KeySourceError extends Error {
  override readonly name = "KeySourceError";
}

/** Keys that have ended do not verify, whatever they signed before (A2A-187). */
function keyFault({ exp, nbf, revoked }: VerificationKey, now: number): string | undefined {
  if (revoked !== undefined && revoked !== false) return "the key is revoked";
  if (exp !== undefined && exp <= now) return "the key has expired";
  if (nbf !== undefined && nbf > now) return "the key is not valid yet";
  return undefined;
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}
