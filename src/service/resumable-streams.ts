/**
 * The A2A extension by which a client continues a stream where it broke off; its text is
 * docs/extensions/resumable-streams.md. Without a position of the client nothing here changes a stream (A2A-141).
 */
import { create, type JsonObject } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError } from "../domain/errors.ts";
import type { TaskFeed } from "../store/task-feed.ts";
import type { LogEvent } from "../store/task-log.ts";
import type { Call, StreamItem } from "./call.ts";

export const RESUMABLE_STREAMS_URI = "urn:baton:a2a:resumable-streams:v1";

export const RESUMABLE_STREAMS_DESCRIPTION =
  "A client that lost a stream subscribes again with the position of the last event that it saw, and gets what it missed.";

/** Response header, or leading metadata, that tells how a stream with a position begins. */
export const RESUME_HEADER = "a2a-stream-resume";

/**
 * How a stream begins for a client that said where it stands. `replay`: with the first event after its position.
 * `current`: it missed nothing; with the task, which is what it knows. `gap`: the events after its position are not all
 * there any more, or the position is none of this task; with the task, which says all that is true now.
 */
export type Resumption =
  | { readonly kind: "replay"; readonly missed: AsyncIterable<LogEvent> }
  | { readonly kind: "current" | "gap" };

/** Compares the position that a client named with the log of a task that stands at `seq`. */
export async function resume(
  feed: Pick<TaskFeed, "pages">,
  task: { readonly agent: string; readonly id: string; readonly seq: number },
  position: string,
): Promise<Resumption> {
  const after = /^\d{1,15}$/.test(position) ? Number(position) : undefined;
  if (after === undefined || after > task.seq) return { kind: "gap" };
  if (after === task.seq) return { kind: "current" };
  const pages = feed.pages(task.agent, task.id, after, task.seq)[Symbol.asyncIterator]();
  const first = await pages.next();
  if (first.done === true || first.value[0]?.seq !== after + 1) return { kind: "gap" };
  return { kind: "replay", missed: inOrder(first.value, pages, after, task.seq) };
}

/** The log is bounded: a reader that is too slow may find its next event gone, and must be told. */
async function* inOrder(
  first: readonly LogEvent[],
  pages: AsyncIterator<LogEvent[]>,
  after: number,
  last: number,
): AsyncGenerator<LogEvent> {
  let position = after;
  for (let page: readonly LogEvent[] | undefined = first; page !== undefined; ) {
    for (const event of page) {
      if (event.seq !== position + 1) break;
      position = event.seq;
      yield event;
    }
    const next = await pages.next();
    page = next.done === true ? undefined : next.value;
  }
  if (position < last) {
    throw new BatonError("StreamInterrupted", "the reader fell behind the log; subscribe again");
  }
}

/** With the extension active, each item carries its position, for transports that have no event ids of their own. */
export function withPositions(
  items: AsyncIterable<StreamItem<StreamResponse>>,
  call: Call,
): AsyncIterable<StreamItem<StreamResponse>> {
  return call.extensions.includes(RESUMABLE_STREAMS_URI) ? positions(items) : items;
}

async function* positions(
  items: AsyncIterable<StreamItem<StreamResponse>>,
): AsyncGenerator<StreamItem<StreamResponse>> {
  for await (const item of items) {
    yield item.id === undefined ? item : { ...item, message: positioned(item.message, item.id) };
  }
}

/** A copy: events are shared by all readers. */
function positioned({ payload }: StreamResponse, eventId: string): StreamResponse {
  const mark = (metadata: JsonObject | undefined): JsonObject => ({
    ...metadata,
    [RESUMABLE_STREAMS_URI]: { eventId },
  });
  switch (payload.case) {
    case "task": {
      const value = { ...payload.value, metadata: mark(payload.value.metadata) };
      return create(StreamResponseSchema, { payload: { case: "task", value } });
    }
    case "statusUpdate": {
      const value = { ...payload.value, metadata: mark(payload.value.metadata) };
      return create(StreamResponseSchema, { payload: { case: "statusUpdate", value } });
    }
    case "artifactUpdate": {
      const value = { ...payload.value, metadata: mark(payload.value.metadata) };
      return create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } });
    }
    default:
      return create(StreamResponseSchema, { payload });
  }
}
