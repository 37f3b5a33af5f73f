import type { RedisConnection } from "./connection.ts";

/** What a Redis server says of itself, as `INFO` has it. */
export type RedisInfo = ReadonlyMap<string, string>;

/** The servers that own some keys, each once. */
export async function readRedisServers(
  redis: RedisConnection,
  keys: readonly string[],
): Promise<readonly RedisInfo[]> {
  const answers = await Promise.all(keys.map((key) => redis.run(key, ["INFO"])));
  const servers = new Map<string, RedisInfo>();
  for (const answer of answers) {
    const info = infoOf(String(answer));
    servers.set(info.get("run_id") ?? "", info);
  }
  return [...servers.values()];
}

function infoOf(text: string): RedisInfo {
  const lines = text.split("\r\n").map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, Math.max(0, colon)), line.slice(colon + 1)] as const;
  });
  return new Map(lines);
}
