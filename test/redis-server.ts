import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedRedis, startEmbeddedRedis } from "../src/redis/embedded.ts";
import { connectRedis } from "../src/store/connect-redis.ts";
import type { RedisConnection } from "../src/store/connection.ts";

/** A Redis of a test's own, in a folder of its own, gone with it. */
export interface TestRedis {
  readonly server: EmbeddedRedis;
  connect(): Promise<RedisConnection>;
  stop(): Promise<void>;
}

export async function startTestRedis(): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), "baton-"));
  const server = await startEmbeddedRedis({ dir: folder });
  const connections: RedisConnection[] = [];
  return {
    server,
    async connect() {
      const connection = await connectRedis({ target: { kind: "socket", path: server.socketPath } });
      connections.push(connection);
      return connection;
    },
    async stop() {
      await Promise.all(connections.map((connection) => connection.close()));
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
