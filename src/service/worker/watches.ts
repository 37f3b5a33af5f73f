import { create } from "@bufbuild/protobuf";
import {
  type WatchQueueResponse,
  WatchQueueResponseSchema,
  type WatchTodoResponse,
  WatchTodoResponseSchema,
} from "../../../gen/baton/worker/v1/worker_pb.js";
import { BatonError } from "../../domain/errors.ts";
import type { QueueBells, Ring } from "../../store/queue-bell.ts";
import type { TaskFeed } from "../../store/task-feed.ts";
import type { TodoReads } from "../../store/todo-reads.ts";
import type { Call, StreamItem } from "../call.ts";
import { type OpenStreams, StreamEnd } from "../open-streams.ts";
import { requireQueue, requireVerb } from "./inputs.ts";
import { isTerminalTodo, todoView } from "./views.ts";

interface WatchParts {
  readonly todos: TodoReads;
  readonly feed: TaskFeed;
  readonly bells: QueueBells;
  readonly streams: OpenStreams;
  readonly streamBuffer: number;
}

/** Rings held for a slow watcher; more are dropped, since the queue is the ledger (SB-73). */
const RING_BUFFER = 16;

function interrupted(signal: AbortSignal): BatonError {
  if (signal.reason instanceof StreamEnd) return signal.reason.error;
  if (signal.aborted) return new BatonError("Canceled", "the client went away");
  return new BatonError("StreamInterrupted", "the watch was interrupted; open it again");
}

/** What the holder of a todo should know: new messages and changes of state, such as a cancellation (SB-40). */
export async function* watchTodo(
  parts: WatchParts,
  id: string,
  afterMessage: number,
  call: Call,
): AsyncGenerator<StreamItem<WatchTodoResponse>> {
  requireVerb(call.caller, "get_todo", "heartbeat");
  const { queues } = call.caller;
  const read = async () => {
    const found = await parts.todos.read(call.agent, id, queues, 0);
    if (found === undefined) throw new BatonError("NotFound", "todo not found");
    return todoView(call.agent, found.todo);
  };
  const open = parts.streams.open(call);
  const subscription = await parts.feed.subscribe(call.agent, id, parts.streamBuffer).catch((error) => {
    open.release();
    throw error;
  });
  const close = () => subscription.close();
  open.signal.addEventListener("abort", close, { once: true });
  // It may have been aborted while the channel was being opened, and then says so no more (SB-48).
  if (open.signal.aborted) close();
  try {
    const opened = await read();
    subscription.startAt(Number(opened.seq));
    yield { message: create(WatchTodoResponseSchema, { event: { case: "opened", value: opened } }) };
    if (isTerminalTodo(opened)) return;
    let position = afterMessage === 0 ? Number(opened.messageCount) : afterMessage;
    let state = opened.state;
    const fresh = async () => {
      const found = await parts.todos.messages(call.agent, id, queues, position);
      const items = (found?.messages ?? []).map((message, index) => ({
        message: create(WatchTodoResponseSchema, {
          event: { case: "message", value: message },
          position: BigInt(position + index + 1),
        }),
      }));
      position += items.length;
      return items;
    };
    if (position < Number(opened.messageCount)) yield* await fresh();
    for await (const notice of subscription) {
      if (open.signal.aborted) break;
      if (notice.kind === "message") {
        if (notice.position > position) yield* await fresh();
        continue;
      }
      if (notice.event.message.payload.case !== "statusUpdate") continue;
      const changed = await read();
      if (changed.state === state) continue;
      state = changed.state;
      yield { message: create(WatchTodoResponseSchema, { event: { case: "changed", value: changed } }) };
      if (isTerminalTodo(changed)) return;
    }
    throw interrupted(open.signal);
  } finally {
    open.signal.removeEventListener("abort", close);
    subscription.close();
    open.release();
  }
}

/** The doorbell of one granted queue, or of all. */
export async function* watchQueue(
  parts: WatchParts,
  queue: string,
  call: Call,
): AsyncGenerator<StreamItem<WatchQueueResponse>> {
  requireVerb(call.caller, "claim_next", "list_todos");
  const queues = queue === "" ? call.caller.queues : [requireQueue(call.caller, queue)];
  const open = parts.streams.open(call);
  const rings: Ring[] = [];
  let wake: (() => void) | undefined;
  const stops: (() => void)[] = [];
  const rouse = () => wake?.();
  open.signal.addEventListener("abort", rouse, { once: true });
  try {
    for (const each of queues) {
      const stop = await parts.bells.listen(call.agent, each, (ring) => {
        if (rings.length < RING_BUFFER) rings.push(ring);
        rouse();
      });
      stops.push(stop);
    }
    // The first ring says that the bell is live, and that work may be waiting already.
    yield { message: create(WatchQueueResponseSchema, {}) };
    while (!open.signal.aborted) {
      const ring = rings.shift();
      if (ring === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = undefined;
        continue;
      }
      const line = ring.title.replace(/[\r\n]+/g, " ");
      yield {
        message: create(WatchQueueResponseSchema, { todoId: ring.id, queue: ring.queue, title: line }),
      };
    }
    throw interrupted(open.signal);
  } finally {
    for (const stop of stops) stop();
    open.signal.removeEventListener("abort", rouse);
    open.release();
  }
}
