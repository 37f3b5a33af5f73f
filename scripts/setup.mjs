// Makes a clone ready to run: the locked packages (Node 24 among them), a Redis server program and the console's
// files; with --for-tests also the browser that the console is tested with. Does nothing when nothing is missing. Plain
// JavaScript without imports of packages, because it is what runs before there are any, on whatever Node the machine has
// (20 or newer).
import { execFileSync, spawnSync } from "node:child_process";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const OLDEST_NODE = [22, 19];
/** Where Debian puts the browser that the console is tested with. */
const CHROMIUM = "/usr/bin/chromium";

const say = (line) => console.log(`setup: ${line}`);

class CannotSetUp extends Error {}

function main() {
  if (!packagesAreLocked()) withLock(join(root, ".baton", "setup.lock"), installPackages);
  checkNode();
  if (findRedis() === undefined) withLock(join(tmpdir(), "baton-setup-redis.lock"), installRedis);
  withLock(join(root, ".baton", "console.lock"), buildConsole);
  if (process.argv.includes("--for-tests") && !existsSync(CHROMIUM)) {
    withLock(join(tmpdir(), "baton-setup-chromium.lock"), installChromium);
  }
}

// --- Packages

/** Whether node_modules holds just what the lock file says, by npm's own record of what it installed. */
function packagesAreLocked() {
  const wanted = readJson("package-lock.json");
  const installed = readJson(join("node_modules", ".package-lock.json"));
  if (installed === undefined) return false;
  return Object.entries(wanted.packages).every(([path, { version, optional, devOptional }]) => {
    if (path === "") return true;
    const here = installed.packages[path];
    // Optional packages are those of other platforms.
    return here === undefined ? Boolean(optional || devOptional) : here.version === version;
  });
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(join(root, path), "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

function installPackages() {
  // Whoever held the lock before may have done it.
  if (packagesAreLocked()) return;
  say("installing the locked packages (npm ci)");
  const { status, error } = run("npm", [
    "ci",
    "--include=dev",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ]);
  if (status !== 0) {
    throw new CannotSetUp(`npm ci failed${error ? ` (${error.message})` : ""}; its output above says why.`);
  }
}

function checkNode() {
  const local = join(root, "node_modules", ".bin", "node");
  // npm scripts look in node_modules/.bin first, so that one counts where it is present.
  const version = isProgram(local)
    ? execFileSync(local, ["--version"], { encoding: "utf8" }).trim()
    : process.version;
  const [major, minor] = version.slice(1).split(".").map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  throw new CannotSetUp(
    `Baton needs Node ${OLDEST_NODE.join(".")} or newer and found ${version}. The package "node" should have brought it: ` +
      "allow install scripts (npm config get ignore-scripts) and remove node_modules, or install Node 24 from https://nodejs.org.",
  );
}

// --- Redis

/** As the product looks for it (src/redis/find-server.ts), which cannot be imported before Node 24 is here. */
function findRedis() {
  const named = process.env.BATON_REDIS_SERVER;
  if (named) {
    if (isProgram(named)) return named;
    throw new CannotSetUp(`BATON_REDIS_SERVER is ${named}, which is not a program that can be run.`);
  }
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const paths = ["redis-server", "valkey-server"].flatMap((name) =>
    folders.map((folder) => join(folder, name)),
  );
  return paths.find(isProgram);
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function installRedis() {
  if (findRedis() !== undefined) return;
  const asRoot = waysToBeRoot();
  if (!existsSync("/usr/bin/apt-get") || asRoot === undefined) throw new CannotSetUp(howToInstallRedis());

  say("no Redis server program found; installing Debian's redis-server (apt-get)");
  const install = `
    set -eu
    export DEBIAN_FRONTEND=noninteractive
    # Asked by the package's scripts whether they may start a service. A policy that is already there stays.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
      printf '#!/bin/sh\\nexit 101\\n' > "$policy"
      chmod 755 "$policy"
      trap 'rm -f "$policy"' EXIT
      trap 'exit 1' INT TERM HUP
    fi
    # A list that cannot be refreshed need not matter: the package itself may still be had.
    apt-get update -qq || echo "setup: apt-get update failed, trying with the lists that are here" >&2
    apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 redis-server
    # Baton starts servers of its own; the distribution's is not to come up at the next boot either.
    if [ -d /run/systemd/system ]; then systemctl disable --now --quiet redis-server
    elif command -v systemctl >/dev/null; then systemctl disable --quiet redis-server
    else update-rc.d redis-server disable; fi`;
  const { status } = run(asRoot[0], [...asRoot.slice(1), "sh", "-c", install]);
  const found = findRedis();
  if (found === undefined) throw new CannotSetUp(`apt-get did not bring a Redis.\n${howToInstallRedis()}`);
  if (status !== 0)
    throw new CannotSetUp("installing redis-server failed half-way; apt-get's output says why.");
  say(`installed ${found}; the distribution's own Redis service is off`);
}

/** The words to put before a command that needs root, or undefined when there is no way without a password. */
function waysToBeRoot() {
  if (process.getuid?.() === 0) return ["env"];
  const sudo = spawnSync("sudo", ["-n", "true"], { stdio: "ignore" });
  return sudo.status === 0 ? ["sudo", "-n"] : undefined;
}

function howToInstallRedis() {
  const hints = Object.values(readJson(join("src", "redis", "install-hints.json")));
  return [
    "Baton needs a Redis server program (redis-server or valkey-server on PATH). Install one as root:",
    ...hints.map(({ name, line }) => `  ${name}: ${line}`),
    "or set BATON_REDIS_SERVER to the path of one.",
  ].join("\n");
}

// --- Console

/** Builds what stands at /console, where its sources have changed since the last time. */
function buildConsole() {
  const local = join(root, "node_modules", ".bin", "node");
  const { status } = run(isProgram(local) ? local : process.execPath, ["scripts/console.mjs"]);
  if (status !== 0) throw new CannotSetUp("the console could not be built; the output above says why.");
}

// --- Browser

/** Brings the browser of the tests where that is possible. Without it those of the console are skipped, and say so. */
function installChromium() {
  if (existsSync(CHROMIUM)) return;
  const asRoot = waysToBeRoot();
  if (!existsSync("/usr/bin/apt-get") || asRoot === undefined) {
    say(`no ${CHROMIUM}, and no way to install it; the tests of the console will be skipped`);
    return;
  }
  say("no Chromium found; installing Debian's chromium for the tests of the console (apt-get)");
  const install = `
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || echo "setup: apt-get update failed, trying with the lists that are here" >&2
    apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 chromium`;
  const { status } = run(asRoot[0], [...asRoot.slice(1), "sh", "-c", install]);
  if (status !== 0 || !existsSync(CHROMIUM)) {
    say("chromium could not be installed; the tests of the console will be skipped");
  }
}

// --- All

function run(command, args) {
  return spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
}

/** Does the work while no other set-up does. A lock whose process is gone is taken over. */
function withLock(path, work) {
  mkdirSync(dirname(path), { recursive: true });
  let told = false;
  while (!takeLock(path)) {
    if (!told) say(`waiting for another set-up (it holds ${path})`);
    told = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
  try {
    work();
  } finally {
    rmSync(path, { force: true });
  }
}

function takeLock(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  try {
    const holder = Number(readFileSync(path, "utf8"));
    // An empty file belongs to one that is just about to write its number.
    const fresh = Date.now() - statSync(path).mtimeMs < 2_000;
    if (!(holder > 0 ? isAlive(holder) : fresh)) rmSync(path, { force: true });
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  return false;
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

try {
  main();
} catch (error) {
  if (!(error instanceof CannotSetUp)) throw error;
  console.error(`setup: ${error.message}`);
  process.exitCode = 1;
}
