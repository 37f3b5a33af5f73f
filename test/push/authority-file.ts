import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * A certificate as a file, for as long as `use` takes: whoever is configured with it reads it at its start. What a test
 * cuts short or kills then leaves nothing behind.
 */
export async function withAuthorityFile<T>(pem: string, use: (file: string) => T): Promise<Awaited<T>> {
  const folder = await mkdtemp(join(tmpdir(), "baton-push-"));
  try {
    const file = join(folder, "ca.pem");
    await writeFile(file, pem);
    return await use(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
