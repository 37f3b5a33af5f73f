/** What the figures were taken on, without the name of anybody's machine. */
import { execFileSync } from "node:child_process";
import { cpus, totalmem } from "node:os";
import { findRedisServer } from "../src/redis/find-server.ts";
import { canPin } from "./processes.ts";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly node: string;
  readonly redis: string;
  /** Where server, load and Redis ran. */
  readonly placement: string;
}

export function describeMachine(): Machine {
  const version = execFileSync(findRedisServer(), ["--version"]).toString();
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    redis: /v=(\S+)/.exec(version)?.[1] ?? "unknown",
    placement: canPin
      ? "the server under test alone on core 0; the load, Redis (append-only file, everysec) and all helpers on core 1"
      : "not pinned: server, load and Redis (append-only file, everysec) share the cores",
  };
}
