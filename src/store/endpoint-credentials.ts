import { hash as digest, randomBytes } from "node:crypto";

/** A credential and what is stored of it. */
export interface MintedCredential {
  readonly credential: string;
  readonly hash: string;
  readonly prefix: string;
}

/** `sbk_` and 32 random bytes in base64url: 47 characters (todo-delegation.md 2.2). */
const CREDENTIAL = /^sbk_[A-Za-z0-9_-]{43}$/;
const PREFIX_LENGTH = 12;

/** Whether a text has the form of a credential. */
export function isCredential(text: string): boolean {
  return CREDENTIAL.test(text);
}

/** Hashing at rest needs no salt or slowness: the credential has 256 bits of its own. */
export function credentialHash(credential: string): string {
  return digest("sha256", credential, "hex");
}

/** 256 random bits; a failing random source throws, and nothing is vended. */
export function mintCredential(): MintedCredential {
  const credential = `sbk_${randomBytes(32).toString("base64url")}`;
  return { credential, hash: credentialHash(credential), prefix: credential.slice(0, PREFIX_LENGTH) };
}
