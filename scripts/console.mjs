// Builds the operators' console from src/console/ into dist/console/, each file also compressed. Does nothing while its
// sources are those of the last build, unless told `--force`; so set-up may always ask for it.
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { mkdir } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const root = fileURLToPath(new URL("..", import.meta.url));
const SOURCES = ["src/console", "gen/baton/admin", "gen/lf", "gen/google/rpc"];
const ALONE = ["scripts/console.mjs", "package-lock.json"];
const output = join(root, "dist/console");
/** In the output: what it was built from. */
const stamp = join(output, ".sources");

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

function sourceHash() {
  const hash = createHash("sha256");
  const files = [
    ...SOURCES.flatMap((folder) => filesBelow(join(root, folder))),
    ...ALONE.map((name) => join(root, name)),
  ];
  for (const path of files)
    hash.update(path.slice(root.length)).update("\0").update(readFileSync(path)).update("\0");
  return hash.digest("hex");
}

/** Text compresses well once, at build time, so that serving costs nothing. */
function compress(folder) {
  for (const path of filesBelow(folder)) {
    if (![".js", ".css", ".html", ".svg"].includes(extname(path))) continue;
    const content = readFileSync(path);
    const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
    writeFileSync(`${path}.br`, brotliCompressSync(content, quality));
    writeFileSync(`${path}.gz`, gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
  }
}

/** Two that build at a time make the same; whoever comes second leaves what is there. */
function put(fresh) {
  rmSync(output, { recursive: true, force: true });
  try {
    renameSync(fresh, output);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST"].includes(error.code)) throw error;
  }
}

const wanted = sourceHash();
const built = existsSync(stamp) ? readFileSync(stamp, "utf8") : undefined;
if (built !== wanted || process.argv.includes("--force")) {
  // Whoever asks may be a test runner, which calls its own surroundings something else; the files are for operators.
  process.env.NODE_ENV = "production";
  const { build } = await import("vite");
  await mkdir(join(root, "dist"), { recursive: true });
  // Beside its place, so that it can be moved there whole: a gateway that reads it meanwhile sees the old or the new.
  const fresh = mkdtempSync(join(root, "dist/.console-"));
  try {
    await build({
      configFile: false,
      root: join(root, "src/console"),
      base: "/console/",
      logLevel: "warn",
      build: {
        outDir: fresh,
        emptyOutDir: true,
        target: ["chrome123", "firefox120", "safari17.5"],
        // Inlined files would need a hole in the content security policy.
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
      },
    });
    compress(fresh);
    writeFileSync(join(fresh, ".sources"), wanted);
    // What mkdtemp makes is for this user alone; the gateway may run as another.
    chmodSync(fresh, 0o755);
    put(fresh);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
