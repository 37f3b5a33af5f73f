import { readFileSync } from "node:fs";

/** The version of this program, from the nearest package.json above: of the repository, or of the installed package. */
export function programVersion(): string {
  for (
    let folder = new URL("../", import.meta.url);
    folder.pathname !== "/";
    folder = new URL("../", folder)
  ) {
    try {
      const { version } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
      return String(version);
    } catch {
      // Further up.
    }
  }
  return "unknown";
}
