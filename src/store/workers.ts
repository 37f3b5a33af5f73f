import type { RedisConnection, Reply } from "./connection.ts";
import { runScript } from "./script.ts";

/** A worker that asked a queue for work, or said that it is alive. */
export interface SeenWorker {
  readonly queue: string;
  readonly endpointId: string;
  /** What it calls itself. */
  readonly name: string;
  /** Milliseconds since the epoch, to within 5 seconds. */
  readonly at: number;
}

/** A todo in a worker's hands. */
export interface HeldTodo {
  readonly queue: string;
  readonly id: string;
  readonly endpointId: string;
  readonly name: string;
  readonly state: string;
  readonly attempt: number;
  /** When the lease lapses, in milliseconds since the epoch. */
  readonly lease: number;
  readonly title: string;
}

/**
 * Who works on some queues of an agent: who was seen in the last hour, on whichever queue, and what is held. At most
 * `limit` workers, and as many todos of each queue that are being worked on or wait for their client.
 */
export async function readWorkers(
  redis: RedisConnection,
  agent: string,
  queues: readonly string[],
  limit: number,
): Promise<{ readonly seen: readonly SeenWorker[]; readonly held: readonly HeldTodo[] }> {
  const reply = await runScript(redis, "workers", agent, { queues: JSON.stringify(queues), limit });
  const [seen, held] = (Array.isArray(reply) ? reply : []) as Reply[][];
  return { seen: seenOf(seen ?? []), held: (held ?? []).map(heldOf) };
}

function seenOf(flat: readonly Reply[]): SeenWorker[] {
  const workers: SeenWorker[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [queue = "", endpointId = "", ...name] = String(flat[i]).split(" ");
    workers.push({ queue, endpointId, name: name.join(" "), at: Number(String(flat[i + 1])) });
  }
  return workers;
}

function heldOf(row: Reply): HeldTodo {
  const [queue, id, endpointId, name, state, attempt, lease, title] = (row as Reply[]).map(String);
  return {
    queue: queue ?? "",
    id: id ?? "",
    endpointId: endpointId ?? "",
    name: name ?? "",
    state: state ?? "",
    attempt: Number(attempt),
    lease: Number(lease),
    title: title ?? "",
  };
}
