import type { RedisConnection, Reply } from "../../src/store/connection.ts";

/** Every key of Redis with all that it holds, as one text. Each type must be known, or something would go unseen. */
export async function dumpRedis(redis: RedisConnection): Promise<string> {
  const run = (...args: string[]) => redis.run("x", args);
  const out: string[] = [];
  const read: Record<string, (key: string) => Promise<Reply>> = {
    string: (key) => run("GET", key),
    hash: (key) => run("HGETALL", key),
    list: (key) => run("LRANGE", key, "0", "-1"),
    set: (key) => run("SMEMBERS", key),
    zset: (key) => run("ZRANGE", key, "0", "-1", "WITHSCORES"),
    stream: (key) => run("XRANGE", key, "-", "+"),
  };
  const text = (reply: Reply): string =>
    Array.isArray(reply)
      ? reply.map(text).join("\n")
      : Buffer.isBuffer(reply)
        ? reply.toString("latin1")
        : String(reply);
  for (const key of ((await run("KEYS", "*")) as Buffer[]).map(String)) {
    const type = String(await run("TYPE", key));
    const reader = read[type];
    if (type === "none") continue;
    if (reader === undefined) throw new Error(`a key of type ${type}`);
    out.push(`${key}\n${text(await reader(key))}`);
  }
  return out.join("\n");
}
