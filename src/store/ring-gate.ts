import type { RedisConnection } from "./connection.ts";
import { ringKey } from "./keys.ts";

/** How long a todo that was rung for is not rung for again, in milliseconds (todo-delegation.md 4.3). */
const GATE_MS = 60_000;

/**
 * Lets one doorbell ring through for each time a todo becomes claimable, whichever replica takes it. `claims`, how often
 * the todo was claimed before, is part of the gate: whoever gives a todo back opens a gate that nobody went through.
 */
export class RingGate {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** True for the first to ask. */
  async pass(agent: string, todoId: string, claims: number): Promise<boolean> {
    const key = ringKey(agent, todoId, claims);
    return (await this.#redis.run(key, ["SET", key, "", "NX", "PX", String(GATE_MS)])) !== null;
  }
}
