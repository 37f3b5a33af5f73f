import { createHash } from "node:crypto";
import { lstatSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedRedisError } from "./errors.ts";

/** A socket's address holds 104 bytes on macOS and 108 on Linux, with the closing zero. */
const LONGEST = 100;

/**
 * Where the server of a data folder listens: in the folder, or, when that path is too long for a socket, in a
 * private folder under the system's temporary one. The same data folder always gets the same socket, so
 * that a server left behind by a killed process is found again.
 *
 * @param folder the real path of the data folder
 * @throws EmbeddedRedisError `bad-folder` when someone else already made the temporary folder
 */
export function socketPathFor(folder: string): string {
  const inFolder = join(folder, "redis.sock");
  if (Buffer.byteLength(inFolder) <= LONGEST) return inFolder;

  const user = process.getuid?.() ?? 0;
  const name = `baton-${user}-${createHash("sha256").update(folder).digest("hex").slice(0, 16)}`;
  const roomy = Buffer.byteLength(join(tmpdir(), name, "redis.sock")) <= LONGEST;
  const privateFolder = join(roomy ? tmpdir() : "/tmp", name);
  mkdirSync(privateFolder, { recursive: true, mode: 0o700 });
  const made = lstatSync(privateFolder);
  if (!made.isDirectory() || made.uid !== user || (made.mode & 0o077) !== 0) {
    throw new EmbeddedRedisError(
      "bad-folder",
      `${privateFolder} belongs to someone else or is open to others, so no socket can be put there. Remove it, or give Baton a data folder with a path shorter than ${LONGEST - "/redis.sock".length} bytes.`,
    );
  }
  return join(privateFolder, "redis.sock");
}
