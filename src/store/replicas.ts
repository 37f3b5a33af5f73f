import { randomUUID } from "node:crypto";
import type { RedisConnection } from "./connection.ts";
import { REPLICAS_KEY } from "./keys.ts";
import { runKeyedScript } from "./script.ts";

/** What a process of the gateway tells of itself. */
export interface ReplicaFacts {
  readonly host: string;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly openStreams: number;
  readonly connections: number;
  readonly ready: boolean;
}

export interface LiveReplica extends ReplicaFacts {
  readonly id: string;
  /** When it last told, by the clock of Redis, in milliseconds since the epoch. */
  readonly seenAt: number;
}

const BEAT_MS = 5000;
/** A process that is silent for so long is taken for dead. */
const SILENCE_MS = 20_000;

/** The processes of the gateway that are alive, each by its own word. */
export class Replicas {
  readonly id = randomUUID();
  readonly #redis: RedisConnection;
  readonly #onError: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();

  constructor(redis: RedisConnection, onError: (error: unknown) => void) {
    this.#redis = redis;
    this.#onError = onError;
  }

  /** Tells now, and every 5 seconds from then on. */
  async start(facts: () => Promise<ReplicaFacts>): Promise<void> {
    const beat = async (): Promise<void> => {
      await this.#tell(JSON.stringify(await facts()));
    };
    await beat();
    this.#timer = setInterval(() => {
      this.#beating = beat().catch(this.#onError);
    }, BEAT_MS);
    this.#timer.unref();
  }

  /** Those that are alive, the oldest first. */
  async list(): Promise<LiveReplica[]> {
    const args = { id: "", facts: "", ttl: SILENCE_MS };
    const reply = await runKeyedScript(this.#redis, "replica", REPLICAS_KEY, args);
    const [, ...flat] = Array.isArray(reply) ? reply : [];
    const replicas: LiveReplica[] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) {
      const text = String(flat[i + 1]);
      const space = text.indexOf(" ");
      const facts = JSON.parse(text.slice(space + 1)) as ReplicaFacts;
      replicas.push({ ...facts, id: String(flat[i]), seenAt: Number(text.slice(0, space)) });
    }
    return replicas.sort((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1));
  }

  /** Takes leave. */
  async stop(): Promise<void> {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#beating;
    await this.#tell("").catch(this.#onError);
  }

  async #tell(facts: string): Promise<void> {
    await runKeyedScript(this.#redis, "replica", REPLICAS_KEY, { id: this.id, facts, ttl: SILENCE_MS });
  }
}
