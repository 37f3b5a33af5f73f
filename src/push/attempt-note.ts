import type { EgressDecision } from "../egress/index.ts";
import { type DecisionNote, decisionNote } from "./decision-log.ts";
import type { FailureReason } from "./failure.ts";

/** One attempt as recorded for operators: on the lane, on a dead letter, in the record of attempts. No secrets. */
export interface AttemptNote {
  /** Milliseconds since the epoch, when it ended. */
  readonly at: number;
  readonly attempt: number;
  readonly outcome: "delivered" | "failed";
  readonly reason?: FailureReason;
  readonly status?: number;
  readonly code?: string;
  readonly durationMs: number;
  readonly host: string;
  readonly egress?: DecisionNote;
  /** Milliseconds until the next attempt, where there is one. */
  readonly nextInMs?: number;
}

export function attemptNote(
  note: Omit<AttemptNote, "egress"> & { readonly decision: EgressDecision | undefined },
): string {
  const { decision, ...rest } = note;
  const full: AttemptNote = {
    ...rest,
    ...(decision === undefined ? {} : { egress: decisionNote(decision) }),
  };
  return JSON.stringify(full);
}

/** Reads a note back; undefined for an empty text. */
export function readNote(text: string): AttemptNote | undefined {
  return text === "" ? undefined : (JSON.parse(text) as AttemptNote);
}
