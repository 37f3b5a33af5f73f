import { fromBinary } from "@bufbuild/protobuf";
import { type Message, MessageSchema, type Task, type TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RedisConnection, Reply } from "./connection.ts";
import { agentPrefix } from "./keys.ts";
import { runScript } from "./script.ts";
import { LogEvent } from "./task-log.ts";
import { snapshotOf, verdictOf } from "./tasks.ts";
import { type AttemptRecord, attemptsOf } from "./todo-records.ts";

/** What an operator looks for; an empty text or undefined is no filter. Times in milliseconds since the epoch. */
export interface TaskFilter {
  readonly owner: string;
  readonly states: readonly TaskState[];
  readonly queue: string;
  readonly contextId: string;
  readonly idPrefix: string;
  /** Inclusive. */
  readonly statusAfter: number | undefined;
  /** Exclusive. */
  readonly statusBefore: number | undefined;
}

/** A place in an agent's tasks by status time and id, both falling. `id` empty: in front of every id of that time. */
export interface TaskPlace {
  readonly at: number;
  readonly id: string;
}

/** Fields of a task's record, by their names in the store. */
export class TaskFields {
  readonly #fields = new Map<string, Buffer>();

  constructor(flat: Reply | undefined) {
    if (!Array.isArray(flat)) throw new Error("unexpected task in the reply of a script");
    for (let i = 0; i + 1 < flat.length; i += 2) this.#fields.set(String(flat[i]), flat[i + 1] as Buffer);
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  text(name: string): string {
    return this.#fields.get(name)?.toString("utf8") ?? "";
  }

  /** 0 for none. */
  number(name: string): number {
    return Number(this.text(name) || 0);
  }

  time(name: string): number | undefined {
    return this.has(name) ? this.number(name) : undefined;
  }

  /** Of texts; empty for none. */
  list(name: string): readonly string[] {
    return this.has(name) ? (JSON.parse(this.text(name)) as string[]) : [];
  }

  message(name: string): Message | undefined {
    const bytes = this.#fields.get(name);
    return bytes === undefined ? undefined : fromBinary(MessageSchema, bytes);
  }
}

export interface FoundTasks {
  readonly tasks: readonly TaskFields[];
  /** The last task that was looked at; undefined: there are no more behind it. */
  readonly reached: TaskPlace | undefined;
}

export interface TaskFacts {
  /** Undefined: as it was at the revision that the reader knows. */
  readonly task: Task | undefined;
  /** Names the state of the record. */
  readonly revision: string;
  readonly fields: TaskFields;
  /** Newest first. */
  readonly attempts: readonly AttemptRecord[];
  /** From 0; undefined: it stands in no line. */
  readonly position: number | undefined;
  readonly pushConfigs: number;
  /** When somebody has to look after the run, in milliseconds since the epoch. */
  readonly runDueAt: number | undefined;
}

/** One line of a task's audit. */
export interface TrailLine {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly seq: number;
  readonly event: string;
  readonly from: string;
  readonly to: string;
  readonly actor: string;
}

export interface LoggedEvent {
  readonly event: LogEvent;
  /** Milliseconds since the epoch; undefined for an event of an older version of the program. */
  readonly at: number | undefined;
}

export interface TaskTrail {
  readonly createdAt: number;
  /** The number of the last event of the log. */
  readonly seq: number;
  /** Oldest first, both. */
  readonly lines: readonly TrailLine[];
  readonly events: readonly LoggedEvent[];
}

const KEPT_ATTEMPTS = 50;

/** Reads of tasks for operators: of every client, and with more than a client may know. */
export class OperatorTaskStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** Looks through the next `scan` tasks behind a place, and answers at most `size` that match. */
  async search(
    agent: string,
    filter: TaskFilter,
    page: { readonly behind: TaskPlace | undefined; readonly size: number; readonly scan: number },
  ): Promise<FoundTasks> {
    const reply = await runScript(this.#redis, "task_search", agent, {
      states: JSON.stringify(filter.states),
      owner: filter.owner,
      queue: filter.queue,
      context: filter.contextId,
      prefix: filter.idPrefix,
      min: filter.statusAfter ?? "",
      max: filter.statusBefore ?? "",
      score: page.behind?.at ?? "",
      last: page.behind?.id ?? "",
      size: page.size,
      scan: page.scan,
    });
    const [more, score, id, ...tasks] = Array.isArray(reply) ? reply : [];
    return {
      tasks: tasks.map((flat) => new TaskFields(flat)),
      reached: Number(more) === 1 ? { at: Number(score), id: String(id) } : undefined,
    };
  }

  /** `known`: the revision that the reader has at hand; empty for none. */
  async facts(agent: string, id: string, known = ""): Promise<TaskFacts | undefined> {
    const args = { id, attempts: KEPT_ATTEMPTS, known };
    const { verdict, rest } = verdictOf(await runScript(this.#redis, "task_facts", agent, args));
    if (verdict !== "ok") return undefined;
    const [, , , fields, attempts, position, configs, due, named] = rest;
    const revision = String(named);
    const number = (reply: Reply | undefined) =>
      String(reply ?? "") === "" ? undefined : Number(String(reply));
    return {
      task: revision === known ? undefined : snapshotOf(rest).task,
      revision,
      fields: new TaskFields(fields),
      attempts: attemptsOf(attempts),
      position: number(position),
      pushConfigs: Number(configs),
      runDueAt: number(due),
    };
  }

  /** At most `limit` audit lines and as many events, the latest. */
  async trail(agent: string, id: string, limit: number): Promise<TaskTrail | undefined> {
    const { verdict, rest } = verdictOf(await runScript(this.#redis, "task_trail", agent, { id, limit }));
    if (verdict !== "ok") return undefined;
    const [created, seq, lines, entries] = rest;
    return {
      createdAt: Number(created),
      seq: Number(seq),
      lines: (Array.isArray(lines) ? lines : []).map((line) => trailLine(String(line))),
      events: (Array.isArray(entries) ? entries : []).map(loggedEvent).reverse(),
    };
  }

  /** How many tasks of an agent are in a state. */
  async count(agent: string, state: TaskState): Promise<number> {
    const key = `${agentPrefix(agent)}idx:a:s${state}`;
    return Number(await this.#redis.run(key, ["ZCARD", key]));
  }
}

function trailLine(line: string): TrailLine {
  const [at, seq, event = "", from, to, ...actor] = line.split(" ");
  const word = (text: string | undefined) => (text === undefined || text === "-" ? "" : text);
  return { at: Number(at), seq: Number(seq), event, from: word(from), to: word(to), actor: actor.join(" ") };
}

function loggedEvent(entry: Reply): LoggedEvent {
  const [id, fields] = Array.isArray(entry) ? entry : [];
  const [, bytes, , at] = Array.isArray(fields) ? fields : [];
  if (!Buffer.isBuffer(bytes)) throw new Error("unexpected entry in a task log");
  return {
    event: new LogEvent(Number.parseInt(String(id), 10), bytes),
    at: at === undefined ? undefined : Number(at),
  };
}
