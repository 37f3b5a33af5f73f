import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  DeadLetterSchema,
  type PushAttemptSchema,
  PushFailure,
} from "../../../gen/baton/admin/v1/push_pb.js";
import { type AttemptNote, readNote } from "../../push/attempt-note.ts";
import { type FailureReason, isFailureReason } from "../../push/failure.ts";
import type { DeadLetter } from "../../store/push-dead-letters.ts";

const FAILURES: Readonly<Record<FailureReason, PushFailure>> = {
  network: PushFailure.NETWORK,
  timeout: PushFailure.TIMEOUT,
  tls: PushFailure.TLS,
  dns: PushFailure.DNS,
  protocol: PushFailure.PROTOCOL,
  status_retryable: PushFailure.STATUS_RETRYABLE,
  status_final: PushFailure.STATUS_FINAL,
  redirect: PushFailure.REDIRECT,
  egress_denied: PushFailure.EGRESS_DENIED,
  aborted_by_receiver: PushFailure.ABORTED_BY_RECEIVER,
  expired: PushFailure.EXPIRED,
  lane_full: PushFailure.LANE_FULL,
  credential_gone: PushFailure.CREDENTIAL_GONE,
  credential_unreadable: PushFailure.CREDENTIAL_UNREADABLE,
  unsendable: PushFailure.UNSENDABLE,
};

function failureOf(reason: string | undefined): PushFailure {
  return reason !== undefined && isFailureReason(reason) ? FAILURES[reason] : PushFailure.UNSPECIFIED;
}

/** One attempt as an operator sees it; undefined where nothing was noted. */
export function attemptView(
  taskId: string,
  seq: number,
  note: AttemptNote | undefined,
): MessageInitShape<typeof PushAttemptSchema> | undefined {
  if (note === undefined) return undefined;
  return {
    taskId,
    sequence: BigInt(seq),
    attempt: note.attempt,
    host: note.host,
    endedAt: timestampFromMs(note.at),
    duration: durationFromMs(note.durationMs),
    delivered: note.outcome === "delivered",
    failure: failureOf(note.reason),
    httpStatus: note.status ?? 0,
    errorCode: note.code ?? "",
    ...(note.egress === undefined ? {} : { egress: { range: "", ...note.egress } }),
    ...(note.nextInMs === undefined ? {} : { nextAttemptAt: timestampFromMs(note.at + note.nextInMs) }),
  };
}

/** A push that was given up, as an operator sees it. */
export function letterView(letter: DeadLetter) {
  const last = attemptView(letter.taskId, letter.seq, readNote(letter.note));
  const first = letter.firstAttemptAt;
  return create(DeadLetterSchema, {
    id: letter.id,
    taskId: letter.taskId,
    configId: letter.configId,
    endpointId: letter.owner,
    host: letter.host,
    sequence: BigInt(letter.seq),
    protocolVersion: letter.version,
    failure: failureOf(letter.reason),
    attempts: letter.attempts,
    committedAt: timestampFromMs(letter.committedAt),
    deadAt: timestampFromMs(letter.deadAt),
    ...(first === undefined ? {} : { firstAttemptAt: timestampFromMs(first) }),
    ...(last === undefined ? {} : { lastAttempt: last }),
  });
}
