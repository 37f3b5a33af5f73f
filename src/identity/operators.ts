import { createHash, timingSafeEqual } from "node:crypto";
import type { Config } from "../config/schema.ts";
import type { Caller } from "../domain/caller.ts";
import { BatonError } from "../domain/errors.ts";
import { bearerToken, type Credentialed, unauthenticated } from "./authenticate.ts";
import { IdTokenRefused, type IdTokens } from "./id-tokens.ts";
import { IssuerUnavailable } from "./issuer-keys.ts";

/** Caller id of whoever holds the admin credential. */
const ADMIN_ID = "admin";

/** Whether the caller is one of the named people, who may manage only what is theirs (SB-60). */
export function isPerson(caller: Caller): boolean {
  return caller.id !== ADMIN_ID;
}

/** Whether the caller may manage what belongs to `owner`. */
export function mayManage(caller: Caller, owner: string): boolean {
  return !isPerson(caller) || caller.name === owner;
}

/**
 * Admits the admin credential, compared in constant time, and ID tokens of the people that the configuration names.
 * Everything else gets one answer.
 */
export function createOperatorAuthenticator(
  adminToken: string,
  { people, audience }: Pick<Config["admin"], "people" | "audience">,
  idTokens: Pick<IdTokens, "verify">,
): (request: Credentialed) => Promise<Caller> {
  const expected = createHash("sha256").update(adminToken).digest();
  return async (request) => {
    const token = bearerToken(request);
    if (token === undefined) throw unauthenticated();
    const given = createHash("sha256").update(token).digest();
    if (timingSafeEqual(given, expected)) return { ...operator(ADMIN_ID, "operator"), operator: true };
    if (audience === undefined || people.length === 0 || token.split(".").length !== 3)
      throw unauthenticated();
    try {
      const { issuer, subject } = await idTokens.verify(token, audience);
      const person = people.find((each) => each.issuer === issuer && each.subject === subject);
      if (person !== undefined) return operator(`person:${person.name}`, person.name);
    } catch (error) {
      if (error instanceof IssuerUnavailable) {
        throw new BatonError("Unavailable", "the issuer of the token cannot be asked", { cause: error });
      }
      if (!(error instanceof IdTokenRefused)) throw error;
    }
    throw unauthenticated();
  };
}

function operator(id: string, name: string): Caller {
  return {
    id,
    name,
    agent: "",
    queues: [],
    verbs: new Set(),
    capabilities: { streaming: true, push: false },
  };
}
