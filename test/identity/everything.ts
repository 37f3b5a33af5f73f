import type { RedisConnection } from "../../src/store/connection.ts";

/** Every key with its whole content, as text. */
export async function everything(redis: RedisConnection): Promise<string> {
  const keys = ((await redis.run("", ["KEYS", "*"])) as unknown[]).map(String);
  const read: Record<string, string[]> = {
    string: ["GET"],
    hash: ["HGETALL"],
    list: ["LRANGE", "0", "-1"],
    set: ["SMEMBERS"],
    zset: ["ZRANGE", "0", "-1", "WITHSCORES"],
    stream: ["XRANGE", "-", "+"],
  };
  const parts = await Promise.all(
    keys.map(async (key) => {
      const [command = "GET", ...rest] = read[String(await redis.run("", ["TYPE", key]))] ?? [];
      return [key, flatten(await redis.run("", [command, key, ...rest]))].join(" ");
    }),
  );
  return parts.join("\n");
}

function flatten(reply: unknown): string {
  return Array.isArray(reply) ? reply.map(flatten).join(" ") : String(reply);
}
