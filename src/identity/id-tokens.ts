import { readFileSync } from "node:fs";
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from "jose";
import type { Config } from "../config/schema.ts";
import { compilePolicy, createEgressClient, type EgressClient } from "../egress/index.ts";
import type { Human } from "../store/grants.ts";
import { IssuerKeys, IssuerUnavailable } from "./issuer-keys.ts";

/** The token proves nothing. Why, is for the log alone. */
export class IdTokenRefused extends Error {
  override readonly name = "IdTokenRefused";
}

/** Asymmetric only: with a symmetric algorithm whoever can check a token can also make one, and `none` proves nothing. */
const ALGORITHMS: readonly string[] = ["ES256", "RS256", "PS256", "EdDSA", "Ed25519"];

const MAX_TOKEN = 16_384;

type Issuer = Config["identity"]["issuers"][number] & { readonly keys: IssuerKeys };

/** Checks ID tokens of the configured issuers: who a person is, and that the token was meant for us and is fresh. */
export class IdTokens {
  readonly #config: Config["identity"];
  readonly #issuers: readonly Issuer[];
  readonly #egress: EgressClient;
  /** What the operator opened in the egress guard, one sentence each. */
  readonly exceptions: readonly string[];

  constructor(config: Config["identity"]) {
    this.#config = config;
    const policy = compilePolicy({
      allow: config.allow.map(({ cidr, ports }) => ({ cidr, ...(ports === undefined ? {} : { ports }) })),
      allowNames: config.allowNames,
    });
    this.exceptions = policy.exceptions;
    this.#egress = createEgressClient({
      policy,
      extraCa: config.caFiles.map((file) => readFileSync(file, "utf8")),
      timeouts: { totalMs: 10_000 },
    });
    this.#issuers = config.issuers.map((issuer) => ({
      ...issuer,
      keys: new IssuerKeys({ ...issuer, egress: this.#egress, keepMs: config.keysSeconds * 1000 }),
    }));
  }

  /** Whether any issuer is trusted. */
  get configured(): boolean {
    return this.#issuers.length > 0;
  }

  /**
   * The person that a token is about. `audience`: the one to accept; absent: those of the issuer.
   * @throws IdTokenRefused, or IssuerUnavailable where the issuer's keys cannot be had
   */
  async verify(token: string, audience?: string): Promise<Human> {
    const issuer = this.#issuerOf(token);
    const audiences = audience === undefined ? issuer.audiences : [audience];
    try {
      const { payload } = await jwtVerify(token, issuer.keys.find, {
        issuer: issuer.issuer,
        audience: [...audiences],
        algorithms: [...ALGORITHMS],
        clockTolerance: this.#config.clockSkewSeconds,
        maxTokenAge: this.#config.maxAgeSeconds,
        requiredClaims: ["sub", "exp", "iat"],
      });
      const { aud, azp, sub, email, email_verified } = payload;
      // A token for several parties was made for one of them, and any other could have passed it on.
      const shared = Array.isArray(aud) && aud.length > 1;
      if (shared && !audiences.includes(String(azp))) {
        throw new IdTokenRefused("the token was made for another party");
      }
      if (sub === undefined || sub === "" || sub.length > 255) throw new IdTokenRefused("no subject");
      const known = email_verified === true && typeof email === "string" && email.length <= 254;
      return { issuer: issuer.issuer, subject: sub, email: known ? email : "" };
    } catch (error) {
      if (error instanceof IssuerUnavailable || error instanceof IdTokenRefused) throw error;
      if (error instanceof errors.JOSEError || error instanceof TypeError) {
        throw new IdTokenRefused("the token does not verify", { cause: error });
      }
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#egress.close();
  }

  /** Which issuer to ask. What the token says is proved afterwards; until then it only chooses among the trusted. */
  #issuerOf(token: string): Issuer {
    if (token.length > MAX_TOKEN) throw new IdTokenRefused("the token is too long");
    try {
      const { typ } = decodeProtectedHeader(token);
      if (typ !== undefined && typ.toLowerCase() !== "jwt") throw new IdTokenRefused("not an ID token");
      const { iss } = decodeJwt(token);
      const issuer = this.#issuers.find((each) => each.issuer === iss);
      if (issuer === undefined) throw new IdTokenRefused("the issuer is not trusted");
      return issuer;
    } catch (error) {
      if (error instanceof IdTokenRefused) throw error;
      throw new IdTokenRefused("not a token", { cause: error });
    }
  }
}
