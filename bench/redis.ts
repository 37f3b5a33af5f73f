/** The Redis of a row: a real server with an append-only file (everysec), on the core of the load. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "../src/redis/ask.ts";
import { startEmbeddedRedis } from "../src/redis/embedded.ts";
import { pin } from "./processes.ts";

export interface BenchRedis {
  readonly url: string;
  readonly socketPath: string;
  /** Resolves when it rewrites its append-only file no more, as it does after many writes. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export async function startBenchRedis(): Promise<BenchRedis> {
  const folder = await mkdtemp(join(tmpdir(), "baton-bench-"));
  const server = await startEmbeddedRedis({ dir: folder });
  pin(server.pid, "load");
  return {
    url: server.url,
    socketPath: server.socketPath,
    async settled() {
      const busy = /^(aof_rewrite_in_progress|aof_rewrite_scheduled):1/m;
      while (busy.test(await ask(server.socketPath, "INFO"))) await sleep(200);
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
