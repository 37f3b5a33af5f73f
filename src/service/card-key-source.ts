import type { EgressClient } from "../egress/index.ts";
import { type FindKey, KeySourceError, type VerificationKey } from "./card-signing.ts";

export interface KeySourceOptions {
  /** Keys that the verifier holds already. */
  readonly known: readonly VerificationKey[];
  /** Hosts, with their port where it is not 443, from which keys may be fetched. */
  readonly hosts: readonly string[];
  readonly egress: Pick<EgressClient, "get">;
}

/**
 * Finds keys among those that are known, then at the `jku` of the signature: only where its host is one that the verifier
 * chose, over https, through the egress guard, each address once (A2A-188).
 */
export function createKeySource(options: KeySourceOptions): FindKey {
  const fetched = new Map<string, Promise<readonly VerificationKey[]>>();
  return async (kid, jku) => {
    const known = options.known.find((key) => key.kid === kid);
    if (known !== undefined || jku === undefined) return known;
    const url = URL.canParse(jku) ? new URL(jku) : undefined;
    if (url?.protocol !== "https:" || !options.hosts.includes(url.host)) {
      throw new KeySourceError("the key is not known, and its address is not at a trusted host");
    }
    const keys = fetched.get(url.href) ?? fetchKeys(url.href, options.egress);
    fetched.set(url.href, keys);
    return (await keys).find((key) => key.kid === kid);
  };
}

async function fetchKeys(
  url: string,
  egress: Pick<EgressClient, "get">,
): Promise<readonly VerificationKey[]> {
  try {
    const { status, bodyExcerpt, bodyComplete } = await egress.get({
      url,
      headers: { accept: "application/json" },
    });
    if (status !== 200 || !bodyComplete) throw new Error(`answered ${status}`);
    return keysOf(JSON.parse(bodyExcerpt.toString("utf8")));
  } catch (cause) {
    throw new KeySourceError("the keys cannot be fetched", { cause });
  }
}

/** The keys of a key set document, or of a single key. Throws where it is neither. */
export function keysOf(document: unknown): readonly VerificationKey[] {
  if (typeof document !== "object" || document === null) throw new Error("not a key set");
  const list = "keys" in document ? document.keys : [document];
  if (!Array.isArray(list)) throw new Error("not a key set");
  return list.filter(
    (key): key is VerificationKey => typeof key === "object" && key !== null && "kty" in key,
  );
}
