import {
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
} from "jose";
import type { EgressClient } from "../egress/index.ts";

/** The issuer's keys cannot be had now: nothing is known of the token. */
export class IssuerUnavailable extends Error {
  override readonly name = "IssuerUnavailable";
}

export interface IssuerKeysOptions {
  /** The issuer, as in `iss`. */
  readonly issuer: string;
  /** Where the keys are; absent: as the issuer's discovery document says. */
  readonly jwksUrl?: string | undefined;
  readonly egress: Pick<EgressClient, "get">;
  /** How long keys are kept, in milliseconds. */
  readonly keepMs: number;
}

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** A token with a key that we do not know makes us look for new keys at most this often, in milliseconds. */
const LOOK_AGAIN_MS = 30_000;
/** After a failure the issuer is left alone for so long, in milliseconds. */
const AFTER_FAILURE_MS = 5000;

/**
 * The public keys of one issuer, fetched through the egress guard, over https only, without following redirects. What
 * strangers send decides neither where keys come from nor how often they are fetched.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keys: { readonly set: KeySet; readonly at: number } | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;
  #fetching: Promise<KeySet> | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** The key of a token, for jose. Throws IssuerUnavailable, or jose's error where the issuer has no such key. */
  readonly find = async (header: JWSHeaderParameters, token: FlattenedJWSInput) => {
    const known = this.#keys;
    const now = Date.now();
    if (known === undefined || now - known.at >= this.#options.keepMs) {
      return (await this.#fetch())(header, token);
    }
    try {
      return await known.set(header, token);
    } catch (error) {
      const isNew = error instanceof errors.JWKSNoMatchingKey && now - known.at >= LOOK_AGAIN_MS;
      if (!isNew) throw error;
      return (await this.#fetch())(header, token);
    }
  };

  /** Fetches the keys and says how many there are. Throws {@link IssuerUnavailable}. */
  async count(): Promise<number> {
    const set = await this.#fetch();
    return set.jwks().keys.length;
  }

  #fetch(): Promise<KeySet> {
    if (Date.now() - this.#failedAt < AFTER_FAILURE_MS) {
      return Promise.reject(new IssuerUnavailable("the issuer did not answer just now"));
    }
    this.#fetching ??= this.#load()
      .catch((cause: unknown) => {
        this.#failedAt = Date.now();
        throw new IssuerUnavailable("the issuer's keys cannot be fetched", { cause });
      })
      .finally(() => {
        this.#fetching = undefined;
      });
    return this.#fetching;
  }

  async #load(): Promise<KeySet> {
    const url = this.#options.jwksUrl ?? (await this.#discover());
    const document = await this.#json(url);
    // createLocalJWKSet looks at the shape and throws where it is not a key set.
    const set = createLocalJWKSet(document as unknown as JSONWebKeySet);
    this.#keys = { set, at: Date.now() };
    return set;
  }

  async #discover(): Promise<string> {
    const { issuer } = this.#options;
    const document = await this.#json(`${issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`);
    if (document.issuer !== issuer) throw new Error("the discovery document is of another issuer");
    if (typeof document.jwks_uri !== "string") throw new Error("the discovery document names no keys");
    return document.jwks_uri;
  }

  async #json(url: string): Promise<Record<string, unknown>> {
    if (!url.startsWith("https://")) throw new Error("keys are fetched over https only");
    const { status, bodyExcerpt, bodyComplete } = await this.#options.egress.get({
      url,
      headers: { accept: "application/json" },
    });
    if (status !== 200 || !bodyComplete) throw new Error(`answered ${status}`);
    const document: unknown = JSON.parse(bodyExcerpt.toString("utf8"));
    if (typeof document !== "object" || document === null) throw new Error("answered no object");
    return document as Record<string, unknown>;
  }
}
