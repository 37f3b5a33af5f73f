import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { type BatonError, invalidParams } from "./errors.ts";

/** What a page token must agree with: the caller, the agent and every filter of the request (A2A-68). */
export function listingDigest(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22);
}

/**
 * Seals a cursor into an opaque token, bound to its listing and signed, so that one we did not issue is recognised
 * rather than taken for page 1. `expiresAt` in milliseconds since the epoch.
 */
export function sealPageToken(secret: Buffer, digest: string, cursor: unknown, expiresAt: number): string {
  const body = Buffer.from(JSON.stringify([digest, expiresAt, cursor])).toString("base64url");
  return `${body}.${mac(secret, body)}`;
}

/** Opens a token. Throws InvalidParams for a foreign, altered or expired one, and for other filters (A2A-68). */
export function openPageToken(secret: Buffer, digest: string, token: string, now: number): unknown {
  const [body = "", signature = "", ...more] = token.split(".");
  const expected = Buffer.from(mac(secret, body));
  const given = Buffer.from(signature);
  if (more.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected))
    throw refused("is not one of ours");
  const [boundTo, expiresAt, cursor] = JSON.parse(Buffer.from(body, "base64url").toString()) as [
    string,
    number,
    unknown,
  ];
  if (boundTo !== digest) throw refused("belongs to another listing");
  if (expiresAt <= now) throw refused("has expired; start again without it");
  return cursor;
}

function refused(why: string): BatonError {
  return invalidParams({ field: "pageToken", description: why });
}

function mac(secret: Buffer, body: string): string {
  return createHmac("sha256", secret).update(body).digest("base64url").slice(0, 32);
}
