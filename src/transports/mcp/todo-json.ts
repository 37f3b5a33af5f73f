import { type JsonObject, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { type Timestamp, timestampMs, ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type Attempt,
  AttemptDisposition,
  AttemptOutcome,
  type Todo,
} from "../../../gen/baton/worker/v1/worker_pb.js";
import { type Message, MessageSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { storedState } from "../../service/worker/views.ts";
import { printMessage } from "../json/print.ts";

/** RFC 3339 in UTC. */
function time(value: Timestamp): string {
  return new Date(timestampMs(value)).toISOString();
}

/** The members that have a value. */
function present(members: Record<string, JsonValue | undefined>): JsonObject {
  const known = Object.entries(members).filter(([, value]) => value !== undefined && value !== "");
  return Object.fromEntries(known) as JsonObject;
}

/** One todo in a list (todo-delegation.md 4.2). `payload_size`: bytes of the message that made it. */
export function todoRow(todo: Todo): JsonObject {
  return {
    id: todo.id,
    queue: todo.queue,
    ...present({
      source: todo.source,
      kind: todo.kind,
      owner: todo.claimant,
      assignee: todo.assignee,
      lease_expires_at: todo.leaseExpiresAt === undefined ? undefined : time(todo.leaseExpiresAt),
    }),
    title: todo.title,
    state: storedState(todo.state) ?? "unknown",
    attempt: todo.attempt,
    max_attempts: todo.maxAttempts,
    ...(todo.createdAt === undefined ? {} : { created_at: time(todo.createdAt) }),
    payload_size: todo.message === undefined ? 0 : toBinary(MessageSchema, todo.message).length,
  };
}

/**
 * A todo with what is to be done: `payload`, the one data part of its message, where it has one; and `message`, the whole
 * of it in A2A form.
 */
export function fullTodo(todo: Todo): JsonObject {
  const { message } = todo;
  return {
    ...todoRow(todo),
    context_id: todo.contextId,
    message_count: Number(todo.messageCount),
    ...(message === undefined ? {} : { message: messageJson(message), ...payloadOf(message) }),
  };
}

function payloadOf(message: Message): JsonObject {
  const data = message.parts.flatMap(({ content }) => (content.case === "data" ? [content.value] : []));
  const [only, ...others] = data;
  return only === undefined || others.length > 0 ? {} : { payload: toJson(ValueSchema, only) };
}

export function messageJson(message: Message): JsonValue {
  return printMessage(MessageSchema, message);
}

/** When a todo that failed is tried again, and whether it is not. */
export function retryJson(todo: Todo, deadLetter: boolean): JsonObject {
  return {
    next_retry_at: todo.notBefore === undefined ? null : time(todo.notBefore),
    dead_letter: deadLetter,
  };
}

export function attemptJson(attempt: Attempt): JsonObject {
  const when = (value: Timestamp | undefined) => (value === undefined ? undefined : time(value));
  return {
    seq: attempt.seq,
    attempt: attempt.attempt,
    ...present({
      claimant: attempt.claimant,
      claimed_at: when(attempt.claimedAt),
      last_heartbeat_at: when(attempt.lastHeartbeatAt),
      ended_at: when(attempt.endedAt),
      outcome: word(AttemptOutcome[attempt.outcome]),
      disposition: word(AttemptDisposition[attempt.disposition]),
      summary: attempt.summary,
      summary_truncated: attempt.summaryTruncated || undefined,
      artifact: attempt.artifact,
    }),
  };
}

/** The store's word for an enum value: its name in lower case; nothing for the one that says nothing. */
function word(name: string | undefined): string | undefined {
  return name === undefined || name === "UNSPECIFIED" ? undefined : name.toLowerCase();
}
