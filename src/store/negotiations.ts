import type { RedisConnection } from "./connection.ts";
import { negotiationsKey } from "./keys.ts";

/** How many are kept for each agent. */
const MOST = 10_000;

/** Adds to the record of versions that were agreed on with an agent's host; it holds no content (OW-9). */
export async function recordNegotiation(
  redis: RedisConnection,
  agent: string,
  outcome: object,
): Promise<void> {
  const key = negotiationsKey(agent);
  const fields = Object.entries(outcome).flatMap(([name, value]) => [name, String(value)]);
  await redis.run(key, ["XADD", key, "MAXLEN", "~", String(MOST), "*", ...fields]);
}
