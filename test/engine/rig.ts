/** The todo engine on a Redis of its own: the store as the services call it, and the records as they lie in Redis. */
import { randomUUID } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { SendMessageRequestSchema, type TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RedisConnection } from "../../src/store/connection.ts";
import { type TaskSnapshot, TaskStore } from "../../src/store/tasks.ts";
import type {
  AttemptRecord,
  CreateResult,
  Finish,
  Holder,
  NewTodo,
  NextClaim,
  TodoRecord,
} from "../../src/store/todo-records.ts";
import { TodoStore } from "../../src/store/todos.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { agentSays, says, stateName } from "./client.ts";

export const BACKOFF = { baseMs: 30_000, capMs: 900_000, jitter: 0 };

export interface AuditEntry {
  readonly task: string;
  readonly event: string;
  readonly actor: string;
  readonly from: string;
  readonly to: string;
  readonly seq: string;
}

export function holder(name: string, options: Partial<Holder> = {}): Holder {
  return { id: `ep_${name}`, name, queues: ["default"], fence: "", ...options };
}

/** An agent of its own for each rig, so that tests share a server without meeting. */
export class Rig {
  readonly agent: string;
  readonly redis: RedisConnection;
  readonly todos: TodoStore;
  readonly tasks: TaskStore;

  constructor(redis: RedisConnection, keepAttempts = 50, agent = `a${randomUUID().slice(0, 8)}`) {
    this.agent = agent;
    this.redis = redis;
    this.todos = new TodoStore(redis, { keepAttempts });
    this.tasks = new TaskStore(redis);
  }

  key(...parts: string[]): string {
    return `baton:{${this.agent}}:${parts.join(":")}`;
  }

  run(...args: string[]) {
    return this.redis.run(this.key(), args);
  }

  async create(options: Partial<NewTodo> = {}): Promise<CreateResult & { readonly snapshot: TaskSnapshot }> {
    const id = `td_${randomUUID()}`;
    const owner = options.owner ?? "ep_sender";
    const result = await this.todos.create(this.agent, {
      id,
      owner,
      scopes: [`e:${owner}`],
      queue: "default",
      contextId: `ctx-${id}`,
      title: "work",
      source: "",
      kind: "",
      assignee: "",
      message: says("work", { taskId: id }),
      request: toBinary(SendMessageRequestSchema, {
        $typeName: "lf.a2a.v1.SendMessageRequest",
        tenant: "",
      }),
      maxAttempts: 5,
      messageKey: randomUUID(),
      bodyHash: "hash",
      idempotencyKey: "",
      historyLength: -1,
      rejectWith: undefined,
      actor: "sender",
      ...options,
    });
    if (result.kind === "mismatch" || result.kind === "full") throw new Error(result.kind);
    return result;
  }

  /** Creates; answers the id. */
  async todo(options: Partial<NewTodo> = {}): Promise<string> {
    return (await this.create(options)).snapshot.task.id;
  }

  async claim(who: Holder, input: { id?: string; ttlMs?: number; queue?: string; claimant?: string } = {}) {
    return this.todos.claim(this.agent, who, {
      queue: input.id === undefined ? (input.queue ?? "default") : "",
      id: input.id ?? "",
      ttlMs: input.ttlMs ?? 60_000,
      claimant: input.claimant ?? who.name,
    });
  }

  /** Claims by id; must go through. */
  async take(who: Holder, id: string, ttlMs?: number): Promise<TodoRecord> {
    const result = await this.claim(who, { id, ...(ttlMs === undefined ? {} : { ttlMs }) });
    if (result.kind !== "claimed") throw new Error(`claim of ${id}: ${result.kind}`);
    return result.todo;
  }

  finish(who: Holder, id: string, verb: Finish["verb"], extra: Partial<Finish> = {}, next?: NextClaim) {
    const finish: Finish = {
      verb,
      message: undefined,
      artifacts: [],
      summary: "",
      summaryTruncated: false,
      artifact: "",
      permanent: false,
      backoff: BACKOFF,
      reason: "",
      ...extra,
    };
    return this.todos.finish(this.agent, id, who, finish, next);
  }

  interrupt(who: Holder, id: string, event: "require_input" | "require_auth" = "require_input") {
    return this.todos.interrupt(this.agent, id, who, event, agentSays("which one?"));
  }

  reply(id: string, options: { owner?: string; text?: string; messageKey?: string; bodyHash?: string } = {}) {
    const owner = options.owner ?? "ep_sender";
    return this.todos.addMessage(
      this.agent,
      id,
      { id: owner, shared: false, queues: [] },
      {
        contextId: "",
        message: says(options.text ?? "this one"),
        messageKey: options.messageKey ?? randomUUID(),
        bodyHash: options.bodyHash ?? "hash",
        historyLength: -1,
        actor: "sender",
      },
    );
  }

  cancel(id: string, owner = "ep_sender") {
    const viewer = { id: owner, shared: false, queues: [] };
    return this.todos.cancel(this.agent, id, viewer, agentSays("not needed"), "sender");
  }

  revoke(owner = "ep_sender") {
    return this.todos.revokeOwner(this.agent, owner, agentSays("revoked"), "operator");
  }

  async sweep(input: { interruptLimitMs?: number; retentionMs?: number; maxEnded?: number } = {}) {
    const args = {
      interruptLimitMs: input.interruptLimitMs ?? 86_400_000,
      timeoutMessage: agentSays("not answered in time"),
      retentionMs: input.retentionMs ?? 2_592_000_000,
      maxEnded: input.maxEnded ?? 500_000,
    };
    let total = 0;
    for (;;) {
      const changed = await this.todos.sweep(this.agent, ["default", "other"], args);
      total += changed;
      if (changed === 0) return total;
    }
  }

  async read(id: string): Promise<{ todo: TodoRecord; attempts: readonly AttemptRecord[] }> {
    const found = await this.todos.read(this.agent, id, ["default", "other"], 100);
    if (found === undefined) throw new Error(`no todo ${id}`);
    return found;
  }

  async task(id: string, owner = "ep_sender"): Promise<TaskSnapshot> {
    const viewer = { id: owner, shared: false, queues: [] };
    const found = await this.tasks.read(this.agent, id, viewer, {
      historyLength: -1,
      includeArtifacts: true,
    });
    if (found === undefined) throw new Error(`no task ${id}`);
    return found;
  }

  async state(id: string): Promise<string> {
    return (await this.read(id)).todo.state;
  }

  async a2aState(id: string): Promise<string> {
    return stateName((await this.task(id)).state as TaskState);
  }

  /** A field of the stored record; null where it is not set. */
  async field(id: string, name: string): Promise<string | null> {
    const value = await this.run("HGET", this.key("task", id), name);
    return value === null ? null : String(value);
  }

  /** Changes a field of the stored record, and the place of the todo in a queue set where the field decides it. */
  async setField(
    id: string,
    name: string,
    value: number,
    set?: "leased" | "delayed" | "waiting",
    queue = "default",
  ): Promise<void> {
    await this.run("HSET", this.key("task", id), name, String(value));
    if (set !== undefined) await this.run("ZADD", this.key("queue", queue, set), "XX", String(value), id);
  }

  /** Lets a lease have lapsed one millisecond ago. */
  async lapse(id: string): Promise<void> {
    await this.setField(id, "lease", (await this.now()) - 1, "leased");
  }

  /** Time of the server in milliseconds. */
  async now(): Promise<number> {
    const [seconds, micros] = (await this.run("TIME")) as Buffer[];
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }

  /** Entries of the agent, or of one todo, oldest first. `newest`: looks no further back than that many. */
  async audit(id?: string, newest?: number): Promise<AuditEntry[]> {
    const count = newest === undefined ? [] : ["COUNT", String(newest)];
    const reply = await this.run("XREVRANGE", this.key("audit"), "+", "-", ...count);
    return (reply as [Buffer, Buffer[]][])
      .reverse()
      .map(([, fields]) => {
        const pairs = Array.from({ length: fields.length / 2 }, (_, i) => [
          String(fields[2 * i]),
          String(fields[2 * i + 1]),
        ]);
        return Object.fromEntries(pairs) as unknown as AuditEntry;
      })
      .filter(({ task }) => id === undefined || task === id);
  }

  /** How many events the log of a task holds, and the number of the last one. */
  async log(id: string): Promise<{ readonly count: number; readonly last: number }> {
    const entries = (await this.run("XRANGE", this.key("task", id, "log"), "-", "+")) as [Buffer, unknown][];
    return { count: entries.length, last: Number.parseInt(String(entries.at(-1)?.[0] ?? "0"), 10) };
  }
}

export interface Engine {
  readonly server: TestRedis;
  rig(keepAttempts?: number): Promise<Rig>;
  stop(): Promise<void>;
}

export async function startEngine(): Promise<Engine> {
  const server = await startTestRedis();
  const redis = await server.connect();
  return { server, rig: async (keepAttempts) => new Rig(redis, keepAttempts), stop: () => server.stop() };
}
