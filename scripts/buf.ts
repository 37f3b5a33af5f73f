import { execFileSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const binaries = fileURLToPath(new URL("../node_modules/.bin", import.meta.url));

/**
 * Runs the buf of this checkout and gives back what it printed.
 *
 * The checkout's binaries come first on PATH, because the plugin needs the Node that the package brings and not
 * an older one of the machine.
 *
 * @param cwd folder that holds buf.yaml
 * @throws Error with buf's own words, when buf ends with anything but 0
 */
export function buf(args: readonly string[], cwd: string): string {
  try {
    return execFileSync(join(binaries, "buf"), args, {
      cwd,
      encoding: "utf8",
      env: { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH ?? ""}` },
      stdio: ["ignore", "pipe", "pipe"],
    });
  } catch (cause) {
    const { stdout = "", stderr = "" } = cause as { stdout?: string; stderr?: string };
    throw new Error(`${stdout}${stderr}`.trim() || `buf could not be run: ${String(cause)}`, { cause });
  }
}
