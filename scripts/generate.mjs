// Writes gen/ from the definitions under proto/, without any network.
// With --check it writes nothing, and fails with a list when gen/ is not what proto/ generates.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buf } from "./buf.ts";

/** Every file below a folder: path inside it to content. A folder that is not there has no files. */
function filesBelow(folder) {
  let entries;
  try {
    entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch (error) {
    if (error.code === "ENOENT") return new Map();
    throw error;
  }
  return new Map(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(folder.length + 1), readFileSync(path)]),
  );
}

/** What has to change in the files `have` to become the files `want`, one line each. */
function differences(have, want) {
  const paths = [...new Set([...have.keys(), ...want.keys()])].sort();
  return paths.flatMap((path) => {
    const [old, fresh] = [have.get(path), want.get(path)];
    if (old === undefined) return [`missing   gen/${path}`];
    if (fresh === undefined) return [`leftover  gen/${path}`];
    return old.equals(fresh) ? [] : [`stale     gen/${path}`];
  });
}

function check(root) {
  const fresh = mkdtempSync(join(tmpdir(), "baton-gen-"));
  try {
    buf(["generate", "--output", fresh], root);
    return differences(filesBelow(join(root, "gen")), filesBelow(join(fresh, "gen")));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

const root = process.cwd();
try {
  if (process.argv.includes("--check")) {
    const found = check(root);
    if (found.length > 0) {
      console.error(`gen/ is not what proto/ generates; run \`npm run generate\` and commit gen/:`);
      for (const line of found) console.error(`  ${line}`);
      process.exitCode = 1;
    } else {
      console.log("gen/ is what proto/ generates");
    }
  } else {
    buf(["generate"], root);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
