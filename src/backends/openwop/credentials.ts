import { readFileSync, statSync } from "node:fs";
import type { OpenWopConfig, SecretSource } from "../../config/openwop.ts";
import type { Caller } from "../../domain/caller.ts";

/** A credential for the host cannot be read where the configuration says it stands. */
class CredentialMissing extends Error {
  override readonly name = "CredentialMissing";
}

/** Name under which the service credential is noted on a run; callers are noted as `caller:<name>`. */
const SERVICE = "service";

/**
 * The credentials that Baton itself holds for a host, by name. What a client sent to Baton is never among them
 * (OW-59). Records of runs keep the name only.
 */
export class HostCredentials {
  readonly #config: Pick<OpenWopConfig, "credential" | "callers">;
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #files = new Map<string, { readonly changed: number; readonly value: string }>();

  constructor(
    config: Pick<OpenWopConfig, "credential" | "callers">,
    environment: Readonly<Record<string, string | undefined>>,
  ) {
    this.#config = config;
    this.#environment = environment;
  }

  /** The name of the credential that acts for a caller. */
  nameFor(caller: Caller): string {
    const key = this.#keyOf(caller);
    return key !== undefined && this.#config.callers[key]?.credential !== undefined
      ? `caller:${key}`
      : SERVICE;
  }

  /** Whether the host can tell this caller from others, and so judge by itself what it may do. */
  knowsCaller(caller: Caller): boolean {
    return this.nameFor(caller) !== SERVICE;
  }

  /** Who the caller is to the host's approver lists. From the credential's record, never from a message (OW-58). */
  subjectOf(caller: Caller): string {
    const key = this.#keyOf(caller);
    return (key === undefined ? undefined : this.#config.callers[key]?.subject) ?? caller.name;
  }

  /** The credential of a name. A name whose caller is no longer configured falls back to the service credential. */
  token(name: string): string {
    const own = name.startsWith("caller:") ? this.#config.callers[name.slice(7)]?.credential : undefined;
    return this.#read(own ?? this.#config.credential);
  }

  /** Reads every configured credential once. Throws {@link CredentialMissing}: half a configuration is none. */
  check(): void {
    this.token(SERVICE);
    for (const name of Object.keys(this.#config.callers)) this.token(`caller:${name}`);
  }

  #keyOf(caller: Caller): string | undefined {
    return [caller.id, caller.name].find((key) => Object.hasOwn(this.#config.callers, key));
  }

  #read(source: SecretSource): string {
    if ("env" in source) {
      const value = this.#environment[source.env];
      if (value === undefined || value === "") throw new CredentialMissing(`${source.env} is not set`);
      return value;
    }
    try {
      const changed = statSync(source.file).mtimeMs;
      const known = this.#files.get(source.file);
      if (known?.changed === changed) return known.value;
      const value = readFileSync(source.file, "utf8").trim();
      this.#files.set(source.file, { changed, value });
      return value;
    } catch (cause) {
      throw new CredentialMissing(`${source.file} cannot be read`, { cause });
    }
  }
}
