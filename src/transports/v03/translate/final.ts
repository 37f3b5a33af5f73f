import { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";

const FINAL: ReadonlySet<TaskState> = new Set([
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
  TaskState.INPUT_REQUIRED,
]);

/**
 * Whether a status update is the last event of its stream: 1.0 says so by ending the stream, 0.3 by a flag, and its
 * clients leave their loop on the flag. A stream ends at INPUT_REQUIRED too, but not at AUTH_REQUIRED (A2A-163).
 */
export function isFinal(state: TaskState | undefined): boolean {
  return state !== undefined && FINAL.has(state);
}
