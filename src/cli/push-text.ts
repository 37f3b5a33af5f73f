import { durationMs, type Timestamp, timestampDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { InvalidArgumentError } from "commander";
import { type DeadLetter, type PushAttempt, PushFailure } from "../../gen/baton/admin/v1/push_pb.js";
import { duration } from "./values.ts";

/** A failure in the words of the documentation: `status_final`, `egress_denied`. */
export function failureText(failure: PushFailure): string {
  return (PushFailure[failure] ?? "unknown").toLowerCase();
}

export function timeText(time: Timestamp | undefined): string {
  return time === undefined ? "-" : timestampDate(time).toISOString();
}

/** A point in time: as RFC 3339 text, or as an age such as `2h`. */
export function pointInTime(value: string): Timestamp {
  const at = /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : Date.now() - duration(value) * 1000;
  if (Number.isNaN(at))
    throw new InvalidArgumentError("Give a time such as 2026-01-31T12:00:00Z, or an age such as 2h.");
  return timestampFromMs(at);
}

function attemptText(attempt: PushAttempt): string {
  const { egress, httpStatus, errorCode, duration: took } = attempt;
  const answer = httpStatus > 0 ? `HTTP ${httpStatus}` : errorCode || "no answer";
  const result = attempt.delivered ? "delivered" : failureText(attempt.failure);
  const guard =
    egress === undefined
      ? "not asked"
      : `${egress.allowed ? "allowed" : "refused"} (${egress.arm}: ${egress.reason}${egress.range && `, ${egress.range}`})`;
  const ms = took === undefined ? 0 : Math.round(durationMs(took));
  return `attempt ${attempt.attempt} at ${timeText(attempt.endedAt)}: ${result}, ${answer}, ${ms} ms; egress guard: ${guard}`;
}

/** A dead letter, for people. */
export function deadLetterText(letter: DeadLetter): string {
  const lines = [
    `${letter.id}  ${failureText(letter.failure)} after ${letter.attempts} attempts`,
    `task ${letter.taskId}, event ${letter.sequence}, config ${letter.configId}, A2A ${letter.protocolVersion}`,
    `to ${letter.host}, registered by endpoint ${letter.endpointId}`,
    `committed ${timeText(letter.committedAt)}, first attempt ${timeText(letter.firstAttemptAt)}, given up ${timeText(letter.deadAt)}`,
  ];
  if (letter.lastAttempt !== undefined) lines.push(attemptText(letter.lastAttempt));
  return lines.join("\n");
}
