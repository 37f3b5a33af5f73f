import type { RedisConnection, Reply } from "./connection.ts";
import { agentPrefix } from "./keys.ts";
import { fieldsOf, type LaneTurn, turnsOf } from "./push-lanes.ts";
import type { LaneLimits } from "./push-steps.ts";
import { runScript } from "./script.ts";

/** A push that was given up. Neither its body nor any credential is in it. Times in milliseconds since the epoch. */
export interface DeadLetter {
  readonly id: string;
  readonly taskId: string;
  readonly configId: string;
  /** The endpoint that registered the config. */
  readonly owner: string;
  readonly host: string;
  readonly seq: number;
  readonly version: string;
  readonly committedAt: number;
  readonly firstAttemptAt: number | undefined;
  readonly deadAt: number;
  readonly reason: string;
  readonly attempts: number;
  /** The last failure as JSON; empty where nothing was attempted. */
  readonly note: string;
}

/** One line of the record of attempts, as written by the delivery. */
export interface AttemptLine {
  readonly taskId: string;
  readonly ref: string;
  readonly seq: number;
  readonly note: string;
}

const GRACE_MS = 10_000;
const BATCH = 500;
/** Of the record of attempts, which holds some ten thousand. */
const PAGE = 2000;

/** Dead letters and the record of attempts, for operators. */
export class PushDeadLetterStore {
  readonly #redis: RedisConnection;
  readonly #limits: Pick<LaneLimits, "depth" | "bytes">;

  /** @param limits of the lanes that letters are put back in */
  constructor(redis: RedisConnection, limits: Pick<LaneLimits, "depth" | "bytes">) {
    this.#redis = redis;
    this.#limits = limits;
  }

  /** Newest first; `before` (exclusive) and `since` bound the time of death, in milliseconds. */
  async list(
    agent: string,
    query: {
      readonly taskId?: string;
      readonly since?: number;
      readonly before?: number;
      readonly limit: number;
    },
  ): Promise<DeadLetter[]> {
    return this.#read(agent, {
      id: "",
      task: query.taskId ?? "",
      since: query.since ?? "-inf",
      before: query.before ?? "+inf",
      limit: query.limit,
    });
  }

  async get(agent: string, id: string): Promise<DeadLetter | undefined> {
    const [letter] = await this.#read(agent, { id, task: "", since: "-inf", before: "+inf", limit: 1 });
    return letter;
  }

  /** Ids of all dead letters since a time, oldest first. */
  async idsSince(agent: string, since: number): Promise<string[]> {
    const key = `${agentPrefix(agent)}push-dead`;
    const reply = await this.#redis.run(key, ["ZRANGEBYSCORE", key, String(since), "+inf"]);
    return (Array.isArray(reply) ? reply : []).map(String);
  }

  /** Puts them back in their lanes. Those whose config or credential is gone, or whose lane is full, are refused and stay. */
  async replay(
    agent: string,
    ids: readonly string[],
    actor: string,
  ): Promise<{ readonly replayed: number; readonly refused: number; readonly turns: LaneTurn[] }> {
    const { depth, bytes } = this.#limits;
    const total = { replayed: 0, refused: 0, turns: [] as LaneTurn[] };
    for (let at = 0; at < ids.length; at += BATCH) {
      const args = { grace: GRACE_MS, depth, lanebytes: bytes, actor };
      const reply = await runScript(this.#redis, "push_replay", agent, args, ids.slice(at, at + BATCH));
      const [replayed, refused, ...turns] = Array.isArray(reply) ? reply : [];
      total.replayed += Number(replayed);
      total.refused += Number(refused);
      total.turns.push(...turnsOf(turns));
    }
    return total;
  }

  async purge(agent: string, ids: readonly string[]): Promise<number> {
    let purged = 0;
    for (let at = 0; at < ids.length; at += BATCH) {
      purged += Number(await runScript(this.#redis, "push_purge", agent, {}, ids.slice(at, at + BATCH)));
    }
    return purged;
  }

  /** The latest attempts of an agent, newest first. */
  async attempts(agent: string, limit: number): Promise<AttemptLine[]> {
    const key = `${agentPrefix(agent)}push-log`;
    const reply = await this.#redis.run(key, ["XREVRANGE", key, "+", "-", "COUNT", String(limit)]);
    return (Array.isArray(reply) ? reply : []).map(lineOf);
  }

  /** The attempts for one task, oldest first, as far as the record of attempts goes back. `since`: see the task's start. */
  async attemptsFor(agent: string, taskId: string, since: number): Promise<AttemptLine[]> {
    const key = `${agentPrefix(agent)}push-log`;
    const found: AttemptLine[] = [];
    let from = String(since);
    for (;;) {
      const reply = await this.#redis.run(key, ["XRANGE", key, from, "+", "COUNT", String(PAGE)]);
      const entries = Array.isArray(reply) ? reply : [];
      found.push(...entries.map(lineOf).filter((line) => line.taskId === taskId));
      const last = entries.at(-1);
      if (entries.length < PAGE || !Array.isArray(last)) return found;
      from = `(${String(last[0])}`;
    }
  }

  async #read(agent: string, args: Record<string, string | number>): Promise<DeadLetter[]> {
    const reply = await runScript(this.#redis, "push_dead", agent, args);
    const flat = Array.isArray(reply) ? reply : [];
    const letters: DeadLetter[] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) letters.push(letterOf(String(flat[i]), flat[i + 1]));
    return letters;
  }
}

function lineOf(entry: Reply): AttemptLine {
  const fields = fieldsOf(Array.isArray(entry) ? entry[1] : undefined);
  return {
    taskId: fields.get("task") ?? "",
    ref: fields.get("ref") ?? "",
    seq: Number(fields.get("seq")),
    note: fields.get("note") ?? "",
  };
}

function letterOf(id: string, reply: Reply | undefined): DeadLetter {
  const fields = fieldsOf(reply);
  const text = (name: string) => fields.get(name) ?? "";
  return {
    id,
    taskId: text("task"),
    configId: text("config"),
    owner: text("owner"),
    host: text("host"),
    seq: Number(text("seq")),
    version: text("version"),
    committedAt: Number(text("ms")),
    firstAttemptAt: text("first") === "" ? undefined : Number(text("first")),
    deadAt: Number(text("at")),
    reason: text("reason"),
    attempts: Number(text("attempts")),
    note: text("note"),
  };
}
