import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { EmbeddedRedisError } from "./errors.ts";
import installHints from "./install-hints.json" with { type: "json" };

type OperatingSystem = keyof typeof installHints;

/** Where to look. The defaults are this process and this machine; tests pass others. */
export interface FindRedisServerOptions {
  /** Read for `BATON_REDIS_SERVER` and `PATH`. Default: `process.env`. */
  env?: NodeJS.ProcessEnv;
  /** Default: `process.platform`. */
  platform?: NodeJS.Platform;
  /** Text of the os-release file, empty where there is none. Default: `/etc/os-release`. */
  osRelease?: string;
}

const PROGRAMS = ["redis-server", "valkey-server"];

/**
 * The path of a Redis server program: `BATON_REDIS_SERVER`, else `redis-server` on PATH, else `valkey-server`.
 *
 * A `BATON_REDIS_SERVER` that cannot be run is an error and not a reason to look further: whoever set it
 * would not expect another server to hold their data.
 *
 * @throws EmbeddedRedisError `server-not-found`, with the install line of this operating system.
 */
export function findRedisServer(options: FindRedisServerOptions = {}): string {
  const env = options.env ?? process.env;
  const named = env.BATON_REDIS_SERVER;
  if (named) {
    if (isProgram(named)) return named;
    throw new EmbeddedRedisError(
      "server-not-found",
      `BATON_REDIS_SERVER is ${named}, which is not a program that can be run. Correct it, or unset it to use redis-server or valkey-server from PATH.`,
    );
  }
  // An empty entry of PATH means the working folder, from which no program should be picked up.
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const program of PROGRAMS) {
    const found = folders.map((folder) => join(folder, program)).find(isProgram);
    if (found !== undefined) return found;
  }
  throw new EmbeddedRedisError("server-not-found", notFoundMessage(options));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function notFoundMessage(options: FindRedisServerOptions): string {
  const os = operatingSystem(options);
  const known = os === undefined ? Object.values(installHints) : [installHints[os]];
  return [
    "Baton keeps its tasks in Redis and found no server program to start (redis-server or valkey-server on PATH).",
    "Install one:",
    ...known.map(({ name, line }) => `  ${name}: ${line}`),
    "or name a program with BATON_REDIS_SERVER, or a running server with BATON_REDIS_URL.",
  ].join("\n");
}

function operatingSystem(options: FindRedisServerOptions): OperatingSystem | undefined {
  const platform = options.platform ?? process.platform;
  if (platform === "darwin") return "macos";
  if (platform !== "linux") return undefined;
  const ids = distributionIds(options.osRelease ?? readOsRelease());
  if (ids.includes("debian") || ids.includes("ubuntu")) return "debian";
  if (ids.includes("fedora") || ids.includes("rhel")) return "fedora";
  return ids.includes("alpine") ? "alpine" : undefined;
}

function readOsRelease(): string {
  try {
    return readFileSync("/etc/os-release", "utf8");
  } catch {
    return "";
  }
}

/** The distribution and those that it says it derives from (os-release(5): ID and ID_LIKE). */
function distributionIds(osRelease: string): string[] {
  return [...osRelease.matchAll(/^ID(?:_LIKE)?=(.*)$/gm)].flatMap(([, value = ""]) =>
    value.replace(/["']/g, "").trim().split(/\s+/),
  );
}
