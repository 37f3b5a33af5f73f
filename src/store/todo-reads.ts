import { fromBinary } from "@bufbuild/protobuf";
import { type Message, MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RedisConnection } from "./connection.ts";
import { runScript } from "./script.ts";
import { verdictOf } from "./tasks.ts";
import { type AttemptRecord, attemptsOf, type DeadTodo, type TodoRecord, todoOf } from "./todo-records.ts";

/** What is asked about todos, one script each. Nothing here changes one. */
export class TodoReads {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** Undefined: there is none in these queues. `attempts`: how many of the latest come with it. */
  async read(
    agent: string,
    id: string,
    queues: readonly string[],
    attempts: number,
  ): Promise<{ readonly todo: TodoRecord; readonly attempts: readonly AttemptRecord[] } | undefined> {
    const args = { id, queues: JSON.stringify(queues), attempts };
    const { verdict, rest } = verdictOf(await runScript(this.#redis, "todo_read", agent, args));
    return verdict === "ok" ? { todo: todoOf(rest[0]), attempts: attemptsOf(rest[1]) } : undefined;
  }

  async list(agent: string, queues: readonly string[], state: string, limit: number): Promise<TodoRecord[]> {
    const reply = await runScript(this.#redis, "todo_list", agent, {
      queues: JSON.stringify(queues),
      state,
      limit,
    });
    if (!Array.isArray(reply)) throw new Error("unexpected reply of the todo_list script");
    return reply.map(todoOf);
  }

  /** Messages after a 1-based position, oldest first, and the position of the last. */
  async messages(
    agent: string,
    id: string,
    queues: readonly string[],
    after: number,
  ): Promise<{ readonly messages: Message[]; readonly position: number } | undefined> {
    const args = { id, queues: JSON.stringify(queues), after };
    const { verdict, rest } = verdictOf(await runScript(this.#redis, "messages", agent, args));
    if (verdict !== "ok") return undefined;
    const [position, ...messages] = rest;
    return {
      messages: messages.map((bytes) => fromBinary(MessageSchema, bytes as Buffer)),
      position: Number(position),
    };
  }

  /** Dead letters, the latest death first; `before` (exclusive, milliseconds) pages on. */
  async dead(
    agent: string,
    queues: readonly string[],
    query: { readonly before: number | undefined; readonly limit: number },
  ): Promise<DeadTodo[]> {
    const reply = await runScript(this.#redis, "todo_dead", agent, {
      queues: JSON.stringify(queues),
      before: query.before ?? "",
      limit: query.limit,
    });
    if (!Array.isArray(reply)) throw new Error("unexpected reply of the todo_dead script");
    const found: DeadTodo[] = [];
    for (let i = 0; i + 2 < reply.length; i += 3) {
      found.push({ diedAt: Number(reply[i]), todo: todoOf(reply[i + 1]), reason: String(reply[i + 2]) });
    }
    return found;
  }
}
