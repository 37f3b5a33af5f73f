import { create, fromBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type Attempt,
  AttemptDisposition,
  AttemptOutcome,
  AttemptSchema,
  type Todo,
  TodoSchema,
  TodoState,
} from "../../../gen/baton/worker/v1/worker_pb.js";
import { MessageSchema, SendMessageRequestSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type TodoState as StoredState, TODO_STATES } from "../../domain/todo.ts";
import type { AttemptRecord, TodoRecord } from "../../store/todo-records.ts";

const STATE: Readonly<Record<StoredState, TodoState>> = {
  pending: TodoState.PENDING,
  claimed: TodoState.CLAIMED,
  "input-required": TodoState.INPUT_REQUIRED,
  "auth-required": TodoState.AUTH_REQUIRED,
  done: TodoState.DONE,
  failed: TodoState.FAILED,
  canceled: TodoState.CANCELED,
  rejected: TodoState.REJECTED,
};

const OUTCOME: Readonly<Record<string, AttemptOutcome>> = {
  completed: AttemptOutcome.COMPLETED,
  failed: AttemptOutcome.FAILED,
  released: AttemptOutcome.RELEASED,
  lease_expired: AttemptOutcome.LEASE_EXPIRED,
  reaped: AttemptOutcome.REAPED,
  canceled: AttemptOutcome.CANCELED,
  revoked: AttemptOutcome.REVOKED,
  rejected: AttemptOutcome.REJECTED,
  interrupt_timeout: AttemptOutcome.INTERRUPT_TIMEOUT,
};

const DISPOSITION: Readonly<Record<string, AttemptDisposition>> = {
  done: AttemptDisposition.DONE,
  retry_scheduled: AttemptDisposition.RETRY_SCHEDULED,
  dead_lettered: AttemptDisposition.DEAD_LETTERED,
  requeued: AttemptDisposition.REQUEUED,
  canceled: AttemptDisposition.CANCELED,
  rejected: AttemptDisposition.REJECTED,
};

/** The stored word of a state, or undefined for UNSPECIFIED and unknown numbers. */
export function storedState(state: TodoState): StoredState | undefined {
  return TODO_STATES.find((word) => STATE[word] === state);
}

export function isTerminalTodo(todo: Todo): boolean {
  return [TodoState.DONE, TodoState.FAILED, TodoState.CANCELED, TodoState.REJECTED].includes(todo.state);
}

/** A todo as a worker sees it. */
export function todoView(agent: string, record: TodoRecord): Todo {
  const { metadata, configuration } = fromBinary(SendMessageRequestSchema, record.request);
  return create(TodoSchema, {
    id: record.id,
    agent,
    queue: record.queue,
    state: STATE[record.state as StoredState],
    title: record.title,
    contextId: record.contextId,
    message: fromBinary(MessageSchema, record.firstMessage),
    ...(metadata === undefined ? {} : { metadata }),
    acceptedOutputModes: configuration?.acceptedOutputModes ?? [],
    claimant: record.claimant,
    assignee: record.assignee,
    attempt: record.attempt,
    maxAttempts: record.maxAttempts,
    ...(record.lease === undefined ? {} : { leaseExpiresAt: timestampFromMs(record.lease) }),
    ...(record.notBefore === undefined ? {} : { notBefore: timestampFromMs(record.notBefore) }),
    createdAt: timestampFromMs(record.created),
    updatedAt: timestampFromMs(record.updated),
    seq: BigInt(record.seq),
    source: record.source,
    kind: record.kind,
    messageCount: BigInt(record.messages),
    traceparent: record.trace?.traceparent ?? "",
    tracestate: record.trace?.tracestate ?? "",
  });
}

export function attemptView(record: AttemptRecord): Attempt {
  return create(AttemptSchema, {
    seq: record.seq,
    attempt: record.attempt,
    claimant: record.claimant,
    claimedAt: timestampFromMs(record.claimedAt),
    ...(record.lastHeartbeatAt === undefined
      ? {}
      : { lastHeartbeatAt: timestampFromMs(record.lastHeartbeatAt) }),
    ...(record.endedAt === undefined ? {} : { endedAt: timestampFromMs(record.endedAt) }),
    outcome: OUTCOME[record.outcome ?? ""] ?? AttemptOutcome.UNSPECIFIED,
    disposition: DISPOSITION[record.disposition ?? ""] ?? AttemptDisposition.UNSPECIFIED,
    summary: record.summary ?? "",
    summaryTruncated: record.summaryTruncated ?? false,
    artifact: record.artifact ?? "",
  });
}
