import { join } from "node:path";
import type { Config } from "../config/schema.ts";
import { startEmbeddedRedis } from "../redis/embedded.ts";
import type { RedisConnection, RedisTarget } from "../store/connection.ts";

/** Where the gateway's Redis is, and how to let go of it. */
export interface RedisSource {
  readonly target: RedisTarget;
  /** We own the server, and its data is in our folder. */
  readonly embedded: boolean;
  /** Resolves when a server of our own ends by itself; never for a configured one, which others look after. */
  readonly lost: Promise<void>;
  stop(): Promise<void>;
}

/** The configured server, or one of our own when none is configured (design.md section 8). */
export async function openRedisSource(config: Config, log: (line: string) => void): Promise<RedisSource> {
  const target = configuredTarget(config);
  if (target !== undefined)
    return { target, embedded: false, lost: new Promise(() => {}), stop: async () => {} };
  const server = await startEmbeddedRedis({ dir: join(config.dataDir, "redis"), log });
  return {
    target: { kind: "socket", path: server.socketPath },
    embedded: true,
    lost: server.lost,
    stop: () => server.stop(),
  };
}

/** The server that another process of ours owns and looks after. */
export function embeddedElsewhere(socketPath: string): RedisSource {
  const target = { kind: "socket", path: socketPath } as const;
  return { target, embedded: true, lost: new Promise(() => {}), stop: async () => {} };
}

/** Undefined: none is configured, so Baton starts its own. */
export function configuredTarget(config: Config): RedisTarget | undefined {
  const { url, sentinel, cluster, username, password } = config.redis;
  const credentials = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
  };
  if (url !== undefined) return { kind: "single", url };
  if (sentinel !== undefined) return { kind: "sentinel", ...sentinel, ...credentials };
  if (cluster !== undefined) return { kind: "cluster", ...cluster, ...credentials };
  return undefined;
}

/** Whether the server writes an append-only file, without which a restart loses tasks. */
export async function isPersistent(redis: RedisConnection): Promise<boolean> {
  const info = await redis.run("baton:", ["INFO", "persistence"]);
  return /^aof_enabled:1\s*$/m.test(String(info));
}
