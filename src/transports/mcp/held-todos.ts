import { create } from "@bufbuild/protobuf";
import { type Todo, TodoState, WatchTodoRequestSchema } from "../../../gen/baton/worker/v1/worker_pb.js";
import { Role } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Call } from "../../service/call.ts";
import type { DoorbellRing } from "../../service/worker/doorbell.ts";
import type { ToolServices } from "./services.ts";

/** Todos watched for one session; of more, their holder is told nothing and has to ask. */
const MAX_WATCHED = 64;

const HELD: ReadonlySet<TodoState> = new Set([
  TodoState.CLAIMED,
  TodoState.INPUT_REQUIRED,
  TodoState.AUTH_REQUIRED,
]);

/** Watches what a session holds, by the call that every worker watches with, to ring for what its client does (Q20). */
export class HeldTodos {
  readonly #worker: ToolServices["worker"];
  readonly #ring: (event: "canceled" | "message", ring: DoorbellRing) => void;
  readonly #watched = new Map<string, AbortController>();

  constructor(
    worker: ToolServices["worker"],
    ring: (event: "canceled" | "message", ring: DoorbellRing) => void,
  ) {
    this.#worker = worker;
    this.#ring = ring;
  }

  /** Watches a todo until it is no longer held. `call` is the one that took it. */
  add(id: string, call: Call): void {
    this.#watched.get(id)?.abort();
    if (this.#watched.size >= MAX_WATCHED) return;
    const end = new AbortController();
    this.#watched.set(id, end);
    // Not the signal of the call, which ends with its answer.
    this.#watch(id, { ...call, signal: end.signal })
      // A watch that the grant does not allow or that is cut says nothing; rings are hints.
      .catch(() => {})
      .finally(() => {
        if (this.#watched.get(id) === end) this.#watched.delete(id);
      });
  }

  clear(): void {
    for (const end of this.#watched.values()) end.abort();
  }

  async #watch(id: string, call: Call): Promise<void> {
    let known: Todo | undefined;
    for await (const { message } of this.#worker.watchTodo(create(WatchTodoRequestSchema, { id }), call)) {
      const { event } = message;
      if (event.case === "message") {
        if (event.value.role === Role.USER && known !== undefined) this.#ring("message", ringOf(known));
        continue;
      }
      if (event.case === undefined) continue;
      const todo = event.value;
      if (todo.state === TodoState.CANCELED) this.#ring("canceled", ringOf(todo));
      if (!HELD.has(todo.state) || (known !== undefined && todo.attempt !== known.attempt)) return;
      known = todo;
    }
  }
}

function ringOf({ id, queue, title, kind, source }: Todo): DoorbellRing {
  return { todoId: id, queue, title, kind, source };
}
