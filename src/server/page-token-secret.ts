import { randomBytes } from "node:crypto";
import type { RedisConnection } from "../store/connection.ts";
import { PAGE_TOKEN_SECRET_KEY } from "../store/keys.ts";

/** The secret that signs page tokens: one for all replicas, so that any of them can turn any page. */
export async function pageTokenSecret(redis: RedisConnection): Promise<Buffer> {
  const key = PAGE_TOKEN_SECRET_KEY;
  await redis.run(key, ["SET", key, randomBytes(32), "NX"]);
  const secret = await redis.run(key, ["GET", key]);
  if (!Buffer.isBuffer(secret)) throw new Error("the page token secret could not be read");
  return secret;
}
