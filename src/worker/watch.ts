import type { Client } from "@connectrpc/connect";
import type { Todo, WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { Backoff } from "./backoff.ts";
import type { TraceHeaders } from "./trace.ts";

export interface TodoListener {
  /** The todo as it is now; called when a watch opens and at each change of its state. */
  onTodo(todo: Todo): void;
  /** A message of the client or the agent, each once and in order. */
  onMessage(message: Message, position: bigint): void;
}

/**
 * Tells `listener` of what happens to a todo until `options.signal` aborts. A cut stream is opened again where it ended, as long as
 * it takes: a watch is how replies arrive, but the lease does not hang on it.
 */
export async function watchTodo(
  calls: Client<typeof WorkerService>,
  id: string,
  after: bigint,
  options: { readonly signal: AbortSignal; readonly headers: TraceHeaders },
  listener: TodoListener,
): Promise<void> {
  const backoff = new Backoff();
  const { signal } = options;
  let position = after;
  while (!signal.aborted) {
    try {
      for await (const { event, position: at } of calls.watchTodo({ id, afterMessage: position }, options)) {
        backoff.reset();
        if (event.case === "message") {
          position = at;
          listener.onMessage(event.value, at);
        } else if (event.case !== undefined) {
          listener.onTodo(event.value);
        }
      }
    } catch {
      // Whatever cut it: heartbeats find out, and report, what is wrong with the gateway or the todo.
    }
    await backoff.pause(signal);
  }
}
