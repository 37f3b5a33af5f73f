import { create } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError } from "../domain/errors.ts";
import { isInterrupted, isTerminal } from "../domain/todo.ts";
import type { LogEvent, Subscription } from "../store/task-feed.ts";
import type { TaskSnapshot } from "../store/tasks.ts";
import type { StreamItem } from "./call.ts";
import { StreamEnd } from "./open-streams.ts";

/** The state that an event brings, or undefined for an artifact. */
export function stateOf(message: StreamResponse): TaskState | undefined {
  const { payload } = message;
  if (payload.case === "statusUpdate") return payload.value.status?.state;
  if (payload.case === "task") return payload.value.status?.state;
  return undefined;
}

/** Does something when a signal aborts, and at once if it already has; answers how to take that back. */
function whenAborted(signal: AbortSignal, action: () => void): () => void {
  if (signal.aborted) action();
  else signal.addEventListener("abort", action, { once: true });
  return () => signal.removeEventListener("abort", action);
}

/** The error with which a stream that did not reach its end stops (A2A-83, A2A-95). */
function interruption(subscription: Subscription, signal: AbortSignal): BatonError {
  if (signal.aborted) {
    return signal.reason instanceof StreamEnd
      ? signal.reason.error
      : new BatonError("Canceled", "the client went away");
  }
  if (subscription.ended === "overflow") {
    return new BatonError("StreamInterrupted", "the reader fell too far behind; subscribe again");
  }
  return new BatonError("StreamInterrupted", "the stream was interrupted; subscribe again");
}

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** End after the event that brings INPUT_REQUIRED (A2A-100). */
  readonly endOnInputRequired: boolean;
  /** Begin with these events, which lead up to the snapshot, in its stead. */
  readonly missed?: AsyncIterable<LogEvent>;
  /** End at a missed INPUT_REQUIRED too that has been answered since: a 0.3 event says that it is the last (A2A-163). */
  readonly endAtPastInputRequired?: boolean;
}

/**
 * The stream of a task: its snapshot, then every later event in order, until a terminal state. With
 * `endOnInputRequired` it also ends after the event that brings INPUT_REQUIRED, but not because the snapshot already
 * stands there (A2A-82 to A2A-89, A2A-100).
 */
export function followTask(
  subscription: Subscription,
  snapshot: TaskSnapshot,
  options: FollowOptions,
): AsyncGenerator<StreamItem<StreamResponse>> {
  return follow(subscription, { snapshot }, options);
}

/** A generator keeps what it was called with for as long as it lasts; a task can be large, so it is taken out of here. */
interface Opening {
  snapshot?: TaskSnapshot;
}

function openingItem(opening: Opening): StreamItem<StreamResponse> {
  const { snapshot } = opening;
  if (snapshot === undefined) throw new Error("a stream begins once");
  delete opening.snapshot;
  const payload = { case: "task", value: snapshot.task } as const;
  return { id: String(snapshot.seq), message: create(StreamResponseSchema, { payload }) };
}

async function* follow(
  subscription: Subscription,
  opening: Opening,
  options: FollowOptions,
): AsyncGenerator<StreamItem<StreamResponse>> {
  const begun = opening.snapshot?.seq ?? 0;
  const ended = opening.snapshot !== undefined && isTerminal(opening.snapshot.state);
  const { signal, missed } = options;
  const forget = whenAborted(signal, () => subscription.close());
  try {
    subscription.startAt(begun);
    if (missed === undefined) {
      yield openingItem(opening);
      if (ended) return;
    } else {
      delete opening.snapshot;
      for await (const event of missed) {
        if (signal.aborted) throw interruption(subscription, signal);
        yield { id: String(event.seq), message: event.message };
        const past = event.seq < begun && options.endAtPastInputRequired !== true;
        if (isLast(event, options.endOnInputRequired && !past)) return;
      }
    }
    for await (const notice of subscription) {
      if (signal.aborted) break;
      if (notice.kind !== "event") continue;
      const { event } = notice;
      yield { id: String(event.seq), message: event.message };
      if (isLast(event, options.endOnInputRequired)) return;
    }
    throw interruption(subscription, signal);
  } finally {
    forget();
    subscription.close();
  }
}

function isLast({ message }: LogEvent, endOnInputRequired: boolean): boolean {
  const state = stateOf(message);
  if (state === undefined) return false;
  return isTerminal(state) || (endOnInputRequired && state === TaskState.INPUT_REQUIRED);
}

/**
 * Waits until the task is terminal or interrupted, at most `maxWaitMs` (A2A-30). True when it is; false when the time
 * passed first. Throws Canceled when the client went away; the work goes on (A2A-86).
 */
export async function awaitAnswer(
  subscription: Subscription,
  snapshot: TaskSnapshot,
  maxWaitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (isTerminal(snapshot.state) || isInterrupted(snapshot.state)) return true;
  const timer = setTimeout(() => subscription.close(), maxWaitMs);
  const forget = whenAborted(signal, () => subscription.close());
  try {
    subscription.startAt(snapshot.seq);
    for await (const notice of subscription) {
      if (notice.kind !== "event") continue;
      const state = stateOf(notice.event.message);
      if (state !== undefined && (isTerminal(state) || isInterrupted(state))) return true;
    }
    // A shutdown ends the wait and nothing else: the task as it is now is an answer too.
    const drained = signal.reason instanceof StreamEnd && signal.reason.error.kind === "StreamInterrupted";
    if (signal.aborted && !drained) throw interruption(subscription, signal);
    return false;
  } finally {
    clearTimeout(timer);
    forget();
    subscription.close();
  }
}
