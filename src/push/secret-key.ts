import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../config/data-folder.ts";
import type { Config } from "../config/schema.ts";
import { makeSecretKey, readSecretKey, SecretBox, SecretKeyError } from "./secret-box.ts";

const FILE = "secret.key";

/**
 * The box that seals credentials: from the configured key or, where this process owns its Redis, from a key kept in
 * the data folder. Undefined where there is no key that all replicas could share; then push is not offered. Throws
 * {@link SecretKeyError} where push was asked for and cannot be had.
 */
export async function openSecretBox(config: Config, ownsRedis: boolean): Promise<SecretBox | undefined> {
  const { enabled, secretKey, previousSecretKeys } = config.push;
  if (enabled === false) return undefined;
  const previous = previousSecretKeys.map(readSecretKey);
  if (secretKey !== undefined) return new SecretBox(readSecretKey(secretKey), previous);
  if (ownsRedis) return new SecretBox(readSecretKey(await keptKey(config.dataDir)), previous);
  if (enabled === undefined) return undefined;
  throw new SecretKeyError(
    "push.enabled needs push.secretKey (BATON_SECRET_KEY) with a Redis that is not embedded, because all replicas must share the key",
  );
}

async function keptKey(dataDir: string): Promise<string> {
  const path = join(dataDir, FILE);
  makeFolder(dataDir);
  try {
    await writeFile(path, `${makeSecretKey()}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  return readFile(path, "utf8");
}
