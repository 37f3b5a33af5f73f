import type { Caller } from "../domain/caller.ts";
import { BatonError } from "../domain/errors.ts";
import { credentialHash } from "../store/endpoint-credentials.ts";
import { callerOf, type EndpointRecord } from "../store/endpoint-records.ts";
import type { EndpointStore } from "../store/endpoints.ts";

/** What a request says about who sends it. */
export interface Credentialed {
  header(name: string): string | undefined;
}

/**
 * One answer for no credential, a malformed, an unknown, a revoked and an expired one (SB-1, SB-59).
 */
export function unauthenticated(): BatonError {
  return new BatonError("Unauthenticated", "invalid or revoked credential");
}

const BEARER = "Bearer ";
const MAX_TOKEN = 4096;

/** The token of `Authorization: Bearer <token>`, or undefined. Cookies are never consulted. */
export function bearerToken(request: Credentialed): string | undefined {
  const header = request.header("authorization")?.trim();
  // The bound is no part of the pattern: counted repetitions are slow.
  if (header === undefined || header.length > BEARER.length + MAX_TOKEN) return undefined;
  return /^Bearer ([A-Za-z0-9._~+/=-]+)$/i.exec(header)?.[1];
}

/** How long a replica trusts what it read of an endpoint, in milliseconds, should a revocation not reach it. */
const TRUST_MS = 5000;
const CACHE_SIZE = 10_000;

/**
 * Resolves vended credentials to callers. Records are cached by the hash of the credential; a revocation anywhere
 * empties the entry at once.
 */
export class EndpointAuthenticator {
  readonly #endpoints: EndpointStore;
  readonly #cache = new Map<
    string,
    { readonly record: EndpointRecord; readonly caller: Caller; readonly until: number }
  >();

  constructor(endpoints: EndpointStore) {
    this.#endpoints = endpoints;
  }

  /** At once where the credential is known here: most calls wait for nothing. Throws, or rejects, with Unauthenticated. */
  authenticate(request: Credentialed): Caller | Promise<Caller> {
    const token = bearerToken(request);
    if (token === undefined) throw unauthenticated();
    const now = Date.now();
    const hash = credentialHash(token);
    const known = this.#cache.get(hash);
    if (known !== undefined && known.until > now && isActive(known.record, now)) return known.caller;
    this.#cache.delete(hash);
    return this.#lookUp(token, hash, now);
  }

  async #lookUp(token: string, hash: string, now: number): Promise<Caller> {
    const record = await this.#endpoints.byCredential(token);
    if (record === undefined || !isActive(record, now)) throw unauthenticated();
    const caller = callerOf(record);
    if (this.#cache.size >= CACHE_SIZE) this.#cache.clear();
    this.#cache.set(hash, { record, caller, until: now + TRUST_MS });
    // A failed note of use must not fail the call (todo-delegation.md 2.1).
    this.#endpoints.touch(record, now).catch(() => {});
    return caller;
  }

  /** Forgets an endpoint that changed or ended. */
  forget(endpointId: string): void {
    for (const [hash, { record }] of this.#cache) if (record.id === endpointId) this.#cache.delete(hash);
  }

  /** Forgets everything, as after a time in which revocations may have been missed. */
  forgetAll(): void {
    this.#cache.clear();
  }
}

function isActive(record: EndpointRecord, now: number): boolean {
  return record.revokedAt === undefined && (record.expiresAt === undefined || record.expiresAt > now);
}
