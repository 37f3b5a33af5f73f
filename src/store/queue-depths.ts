import type { RedisConnection } from "./connection.ts";
import { queueStateKey } from "./keys.ts";

/** Where a todo of a queue can stand; each is a sorted set. */
const QUEUE_STATES = ["ready", "delayed", "leased", "waiting", "dead"] as const;

type QueueState = (typeof QUEUE_STATES)[number];

export interface QueueDepth {
  readonly counts: Readonly<Record<QueueState, number>>;
  /** When the todo that is next in line entered the line, in milliseconds since the epoch; absent: none waits. */
  readonly oldestReadyAt: number | undefined;
  /** When the lease lapses that lapses first; absent: none is held. */
  readonly nextLeaseExpiryAt: number | undefined;
  /** Since when the todo waits that has waited longest for its client; absent: none does. */
  readonly oldestWaitingAt: number | undefined;
}

/** How many todos stand where in a queue. A snapshot of each count, not one of all at once. */
export async function queueDepth(redis: RedisConnection, agent: string, queue: string): Promise<QueueDepth> {
  const counted = QUEUE_STATES.map(async (state) => {
    const key = queueStateKey(agent, queue, state);
    return [state, Number(await redis.run(key, ["ZCARD", key]))] as const;
  });
  const first = async (state: QueueState): Promise<number | undefined> => {
    const key = queueStateKey(agent, queue, state);
    const head = await redis.run(key, ["ZRANGE", key, "0", "0", "WITHSCORES"]);
    return Array.isArray(head) && head.length === 2 ? Number(head[1]) : undefined;
  };
  const [counts, order, lease, since] = await Promise.all([
    Promise.all(counted),
    first("ready"),
    first("leased"),
    first("waiting"),
  ]);
  return {
    counts: Object.fromEntries(counts) as Record<QueueState, number>,
    // The claim order is a time in microseconds (create.lua).
    oldestReadyAt: order === undefined ? undefined : order / 1000,
    nextLeaseExpiryAt: lease,
    oldestWaitingAt: since,
  };
}
