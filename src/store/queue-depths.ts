import type { RedisConnection } from "./connection.ts";
import { queueStateKey } from "./keys.ts";

/** Where a todo of a queue can stand; each is a sorted set. */
export const QUEUE_STATES = ["ready", "delayed", "leased", "waiting", "dead"] as const;

export type QueueState = (typeof QUEUE_STATES)[number];

export interface QueueDepth {
  readonly counts: Readonly<Record<QueueState, number>>;
  /** When the todo that is next in line entered the line, in milliseconds since the epoch; absent: none waits. */
  readonly oldestReadyAt: number | undefined;
}

/** How many todos stand where in a queue. A snapshot of each count, not one of all at once. */
export async function queueDepth(redis: RedisConnection, agent: string, queue: string): Promise<QueueDepth> {
  const counted = QUEUE_STATES.map(async (state) => {
    const key = queueStateKey(agent, queue, state);
    return [state, Number(await redis.run(key, ["ZCARD", key]))] as const;
  });
  const ready = queueStateKey(agent, queue, "ready");
  const first = redis.run(ready, ["ZRANGE", ready, "0", "0", "WITHSCORES"]);
  const [counts, head] = await Promise.all([Promise.all(counted), first]);
  const order = Array.isArray(head) && head.length === 2 ? Number(head[1]) : undefined;
  return {
    counts: Object.fromEntries(counts) as Record<QueueState, number>,
    // The claim order is a time in microseconds (create.lua).
    oldestReadyAt: order === undefined ? undefined : order / 1000,
  };
}
