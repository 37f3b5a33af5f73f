/** The Redis of a row: a real server with an append-only file (everysec), on the core of the load. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask } from "../src/redis/ask.ts";
import { startEmbeddedRedis } from "../src/redis/embedded.ts";
import { pin } from "./processes.ts";
import type { Usable, Used } from "./rows/use.ts";

export interface BenchRedis extends Usable {
  readonly url: string;
  readonly socketPath: string;
  stop(): Promise<void>;
}

/**
 * `rewrites`: whether it rewrites its append-only file when that has grown, as it does by default. That is a process at
 * full tilt on the core of the load, and it would strike some rounds of some sides and not others.
 */
export async function startBenchRedis({ rewrites = false } = {}): Promise<BenchRedis> {
  const folder = await mkdtemp(join(tmpdir(), "baton-bench-"));
  const server = await startEmbeddedRedis({ dir: folder });
  pin(server.pid, "load");
  if (!rewrites) await ask(server.socketPath, "CONFIG SET auto-aof-rewrite-percentage 0");
  return {
    url: server.url,
    socketPath: server.socketPath,
    async used(): Promise<Used> {
      const info = await ask(server.socketPath, "INFO cpu");
      const seconds = (kind: string) => Number(new RegExp(`^used_cpu_${kind}:(.*)`, "m").exec(info)?.[1]);
      const cpu = seconds("user") + seconds("sys");
      return { cpu, busy: cpu };
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
