import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import type { Todo, WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { Backoff } from "./backoff.ts";
import { callOptions } from "./client.ts";
import { verdictOf } from "./errors.ts";

export interface TodoListener {
  /** The todo as it is now; called at least at each change of its state that is noticed. */
  onTodo(todo: Todo): void;
  /** A message of the client or the agent, each once and in order. */
  onMessage(message: Message, position: bigint): void;
}

/** How often a todo is read where no stream may be opened for it, in milliseconds. */
const POLL_MS = 2_000;

/**
 * Tells `listener` of what happens to a todo until `signal` aborts. A cut stream is opened again where it ended; when the
 * endpoint may open no (more) streams, the todo is read from time to time instead.
 */
export async function watchTodo(
  calls: Client<typeof WorkerService>,
  id: string,
  after: bigint,
  signal: AbortSignal,
  listener: TodoListener,
): Promise<void> {
  let position = after;
  const backoff = new Backoff();

  async function follow(): Promise<void> {
    for await (const { event, position: at } of calls.watchTodo({ id, afterMessage: position }, { signal })) {
      backoff.reset();
      if (event.case === "message") {
        position = at;
        listener.onMessage(event.value, at);
      } else if (event.case !== undefined) {
        listener.onTodo(event.value);
      }
    }
  }

  async function poll(): Promise<void> {
    const { messages } = await calls.getMessages({ id, after: position }, callOptions(signal));
    for (const message of messages) {
      position += 1n;
      listener.onMessage(message, position);
    }
    const { todo } = await calls.getTodo({ id, attemptsLimit: 0 }, callOptions(signal));
    if (todo !== undefined) listener.onTodo(todo);
    await sleep(POLL_MS, undefined, { signal });
  }

  let next = follow;
  while (!signal.aborted) {
    try {
      await next();
      // A stream that ended well was about a todo that is over; the listener knows, unless it lost the last event.
      await backoff.pause(signal);
    } catch (error) {
      if (signal.aborted) return;
      next = mayNotStream(error) ? poll : follow;
      if (next === follow) await backoff.pause(signal);
    }
  }
}

function mayNotStream(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  return code === Code.ResourceExhausted || (code !== Code.Unauthenticated && verdictOf(error) === "refused");
}
