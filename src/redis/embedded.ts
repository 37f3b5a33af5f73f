/**
 * The embedded default: a Redis that Baton starts, owns and stops, for whoever has named no server.
 *
 * @module
 */
import type { ChildProcess } from "node:child_process";
import { closeSync, openSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolder } from "../config/data-folder.ts";
import { ask } from "./ask.ts";
import { EmbeddedRedisError } from "./errors.ts";
import { findRedisServer } from "./find-server.ts";
import { lockFolder } from "./folder-lock.ts";
import { killHard, retireStaleServer } from "./retire.ts";
import { socketPathFor } from "./socket-path.ts";
import { spawnSupervised } from "./supervised.ts";

export interface EmbeddedRedisOptions {
  /** Data folder, made when missing. Holds the append-only file, the log, and usually the socket. */
  dir: string;
  /** Told in one sentence of each thing worth an operator's attention. Default: nobody. */
  log?: (line: string) => void;
  /** Read for `BATON_REDIS_SERVER` and `PATH`. Default: `process.env`. */
  env?: NodeJS.ProcessEnv;
}

/** A running server. It listens on a Unix socket only, so nothing outside this user can reach it. */
export interface EmbeddedRedis {
  /** `unix://` URL of the socket, as node-redis takes it. */
  readonly url: string;
  /** Path of the socket, as ioredis (BullMQ) takes it. */
  readonly socketPath: string;
  /** Process id of the Redis server. */
  readonly pid: number;
  /** Resolves when the server ends without {@link stop}: whoever owns it cannot go on. */
  readonly lost: Promise<void>;
  /** Writes everything to disk, ends the server and gives the folder back. Safe to call again. */
  stop(): Promise<void>;
}

const LISTEN_WITHIN_MS = 15_000;
const STOP_WITHIN_MS = 5_000;

/**
 * Starts a Redis on a data folder and returns when it answers and has loaded everything that it kept.
 *
 * Writes are on disk within a second (AOF, `everysec`), nothing is ever evicted, and the server ends with
 * this process even when that is killed. A server that a killed process left behind on the same folder is
 * first told to finish.
 *
 * @throws EmbeddedRedisError
 * @example
 * const redis = await startEmbeddedRedis({ dir: ".baton/redis" });
 * const client = createClient({ url: redis.url });
 * // ...
 * await redis.stop();
 */
export async function startEmbeddedRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const log = options.log ?? (() => {});
  const program = findRedisServer(options.env === undefined ? {} : { env: options.env });
  const folder = realFolder(options.dir);
  const unlock = lockFolder(folder);
  let shell: ChildProcess | undefined;
  try {
    const socketPath = socketPathFor(folder);
    const pidFile = join(folder, "redis.pid");
    await retireStaleServer(socketPath, pidFile, log);

    // Truncated at each start, so that it stays small and a failure is found in the last lines.
    const logFile = join(folder, "redis.log");
    const output = openSync(logFile, "w", 0o600);
    const server = spawnSupervised(program, serverArguments(folder, socketPath, pidFile), output);
    closeSync(output);
    shell = server;
    const ended = new Promise<void>((resolve) => {
      server.once("exit", () => resolve());
      server.once("error", () => resolve());
    });
    const pid = await waitUntilReady(server, socketPath, logFile, log);
    log(`Started ${program} (process ${pid}) on ${socketPath}, data in ${folder}.`);

    let stopping: Promise<void> | undefined;
    const lost = Promise.withResolvers<void>();
    void ended.then(() => {
      if (stopping !== undefined) return;
      log(`Redis (process ${pid}) ended by itself. Its log is ${logFile}.`);
      lost.resolve();
    });
    return {
      url: `unix://${socketPath.split("/").map(encodeURIComponent).join("/")}`,
      socketPath,
      pid,
      lost: lost.promise,
      stop() {
        stopping ??= shutDown(socketPath, pid, ended).finally(unlock);
        return stopping;
      },
    };
  } catch (error) {
    // The supervising shell ends the server when its input ends.
    shell?.stdin?.destroy();
    unlock();
    throw error;
  }
}

function realFolder(dir: string): string {
  try {
    return realpathSync(makeFolder(dir, 0o700));
  } catch (cause) {
    throw new EmbeddedRedisError("bad-folder", `The data folder ${dir} cannot be made: ${String(cause)}`, {
      cause,
    });
  }
}

function serverArguments(folder: string, socketPath: string, pidFile: string): string[] {
  const settings = {
    dir: folder,
    pidfile: pidFile,
    port: "0",
    unixsocket: socketPath,
    unixsocketperm: "700",
    appendonly: "yes",
    appendfsync: "everysec",
    "maxmemory-policy": "noeviction",
    // The append-only file is the one record; snapshots beside it would only cost.
    save: "",
    daemonize: "no",
    logfile: "",
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}

/** Waits for PONG with nothing left to load. Loading may take as long as it takes. */
async function waitUntilReady(
  server: ChildProcess,
  socketPath: string,
  logFile: string,
  log: (line: string) => void,
): Promise<number> {
  const deadline = Date.now() + LISTEN_WITHIN_MS;
  let loading = false;
  let lastError: unknown;
  while (server.exitCode === null && server.signalCode === null && server.pid !== undefined) {
    try {
      const info = await ask(socketPath, "INFO");
      if (/^loading:0\r?$/m.test(info) && (await ask(socketPath, "PING")) === "PONG") {
        return Number(/^process_id:(\d+)/m.exec(info)?.[1]);
      }
      if (!loading) log("Redis is reading its append-only file.");
      loading = true;
    } catch (error) {
      lastError = error;
      if (!loading && Date.now() > deadline) break;
    }
    await sleep(loading ? 100 : 10);
  }
  throw new EmbeddedRedisError(
    "start-failed",
    `Redis did not start: ${lastWords(logFile)}\nIts whole log is ${logFile}.`,
    { cause: lastError },
  );
}

function lastWords(logFile: string): string {
  const lines = readFileSync(logFile, "utf8").trimEnd().split("\n");
  return lines.slice(-5).join("\n") || "it said nothing.";
}

async function shutDown(socketPath: string, pid: number, ended: Promise<void>): Promise<void> {
  // A server that is already gone cannot answer, and one that cannot stop cleanly is dealt with below.
  void ask(socketPath, "SHUTDOWN", STOP_WITHIN_MS).catch(() => {});
  const late = new AbortController();
  const timeout = sleep(STOP_WITHIN_MS, "late", { signal: late.signal }).catch(() => "ended");
  if ((await Promise.race([ended, timeout])) === "late") {
    killHard(pid);
    await ended;
  }
  late.abort();
}
