/** The Redis of a row: a real server with an append-only file (everysec), on the core of the load. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedRedis } from "../src/redis/embedded.ts";
import { pin } from "./processes.ts";

export interface BenchRedis {
  readonly url: string;
  readonly socketPath: string;
  stop(): Promise<void>;
}

export async function startBenchRedis(): Promise<BenchRedis> {
  const folder = await mkdtemp(join(tmpdir(), "baton-bench-"));
  const server = await startEmbeddedRedis({ dir: folder });
  pin(server.pid, "load");
  return {
    url: server.url,
    socketPath: server.socketPath,
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
