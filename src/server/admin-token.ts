import { randomBytes } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../config/data-folder.ts";
import { ConfigError } from "../config/load.ts";
import type { Config } from "../config/schema.ts";

/** Where the admin credential is kept when the operator gives none. */
export function adminTokenFile(dataDir: string): string {
  return join(dataDir, "admin.token");
}

/**
 * The admin credential: the configured one, else the one in the data folder, made on the first start and readable by
 * this user alone.
 */
export async function resolveAdminToken(config: Config): Promise<string> {
  if (config.admin.token !== undefined) return config.admin.token;
  try {
    makeFolder(config.dataDir);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError("dataDir", [`dataDir: ${config.dataDir} cannot be made: ${why}`]);
  }
  const path = adminTokenFile(config.dataDir);
  const token = `sba_${randomBytes(32).toString("base64url")}`;
  try {
    // Exclusive: of two first starts, one makes the file and both use it.
    const file = await open(path, "wx", 0o600);
    await file.writeFile(`${token}\n`);
    await file.close();
    return token;
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "EEXIST") throw error;
    return (await readFile(path, "utf8")).trim();
  }
}
