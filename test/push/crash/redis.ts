import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedRedis } from "../../../src/redis/embedded.ts";
import { connectRedis } from "../../../src/store/connect-redis.ts";
import type { TestRedis } from "../../redis-server.ts";

/** A Redis that can be killed and started again on the same data. */
export interface MortalRedis extends TestRedis {
  /** kill -9, and after a pause in milliseconds a new server on what the old one had written. */
  crash(pause?: number): Promise<void>;
}

export async function startMortalRedis(): Promise<MortalRedis> {
  const folder = await mkdtemp(join(tmpdir(), "baton-crash-"));
  let server = await startEmbeddedRedis({ dir: folder });
  const connect = () => connectRedis({ target: { kind: "socket", path: server.socketPath } });
  // With `everysec` a killed Redis may forget what it had acknowledged for up to two seconds; that window is Redis's and
  // documented. Here the question is what Baton loses, so Redis shall lose nothing.
  const keepAll = async () => {
    const connection = await connect();
    await connection.run("x", ["CONFIG", "SET", "appendfsync", "always"]);
    await connection.close();
  };
  await keepAll();
  return {
    get server() {
      return server;
    },
    connect,
    async crash(pause = 0) {
      process.kill(server.pid, "SIGKILL");
      await server.stop();
      await new Promise((resolve) => setTimeout(resolve, pause));
      server = await startEmbeddedRedis({ dir: folder });
      await keepAll();
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The same server, seen from another process. */
export async function attachRedis(socketPath: string): Promise<TestRedis> {
  const server = {
    url: `unix://${socketPath}`,
    socketPath,
    pid: 0,
    lost: new Promise<void>(() => {}),
    stop: async () => {},
  };
  return {
    server,
    connect: () => connectRedis({ target: { kind: "socket", path: socketPath } }),
    stop: async () => {},
  };
}
