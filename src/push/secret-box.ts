import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

/** What a push config holds that nobody may read again (OW-45). */
export interface PushSecret {
  readonly token?: string;
  readonly credentials?: string;
}

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The key cannot be used. The message is a sentence for the operator and does not quote the key. */
export class SecretKeyError extends Error {
  override readonly name = "SecretKeyError";
}

/** Reads 32 bytes of base64 or base64url. Throws {@link SecretKeyError}. */
export function readSecretKey(text: string): Buffer {
  const key = Buffer.from(text.trim(), "base64");
  // Checked as text too: the decoder stops at the first padding and drops what it does not know.
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text.trim()) || key.length !== KEY_BYTES) {
    throw new SecretKeyError(`the secret key must be ${KEY_BYTES} random bytes in base64`);
  }
  return key;
}

export function makeSecretKey(): string {
  return randomBytes(KEY_BYTES).toString("base64");
}

/**
 * Seals credentials with AES-256-GCM. A sealed text names its key, so that the key can be rotated: the first key
 * seals, every key opens. The binding (agent, config, origin) is authenticated with it: a sealed credential that is
 * moved to another config or destination does not open (OW-43).
 */
export class SecretBox {
  readonly #current: { readonly id: string; readonly key: Buffer };
  readonly #keys: ReadonlyMap<string, Buffer>;

  constructor(current: Buffer, previous: readonly Buffer[] = []) {
    this.#current = { id: keyId(current), key: current };
    this.#keys = new Map([...previous, current].map((key) => [keyId(key), key]));
  }

  seal(secret: PushSecret, binding: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#current.key, iv).setAAD(Buffer.from(binding));
    const sealed = Buffer.concat([
      cipher.update(JSON.stringify(secret), "utf8"),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return ["1", this.#current.id, iv.toString("base64url"), sealed.toString("base64url")].join(".");
  }

  /** Undefined where no key opens it: the key was dropped, or the text belongs elsewhere. */
  open(text: string, binding: string): PushSecret | undefined {
    const [form, id, iv, sealed] = text.split(".");
    const key = this.#keys.get(id ?? "");
    if (form !== "1" || key === undefined || iv === undefined || sealed === undefined) return undefined;
    const bytes = Buffer.from(sealed, "base64url");
    try {
      const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(iv, "base64url"))
        .setAAD(Buffer.from(binding))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      const clear = Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]);
      return JSON.parse(clear.toString("utf8")) as PushSecret;
    } catch {
      return undefined;
    }
  }
}

/** Names a key without telling anything of it. */
function keyId(key: Buffer): string {
  return createHash("sha256").update("baton push key ").update(key).digest("base64url").slice(0, 8);
}
