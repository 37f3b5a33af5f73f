import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";

/** Statuses of an OpenWOP run that Baton knows (openwop.md 2.1). A host may send others. */
const RUN_STATUSES = [
  "pending",
  "running",
  "paused",
  "waiting-approval",
  "waiting-input",
  "waiting-external",
  "completed",
  "failed",
  "cancelling",
  "cancelled",
] as const;

type RunStatus = (typeof RUN_STATUSES)[number];

/** The state of the A2ATaskState record, in its stored spelling; also the 0.3 wire spelling. */
export type RecordState =
  | "submitted"
  | "working"
  | "input-required"
  | "auth-required"
  | "completed"
  | "failed"
  | "canceled";

const STATE_OF: Readonly<Record<RunStatus, TaskState>> = {
  pending: TaskState.SUBMITTED,
  running: TaskState.WORKING,
  paused: TaskState.WORKING,
  cancelling: TaskState.WORKING,
  "waiting-approval": TaskState.INPUT_REQUIRED,
  "waiting-input": TaskState.INPUT_REQUIRED,
  "waiting-external": TaskState.INPUT_REQUIRED,
  completed: TaskState.COMPLETED,
  failed: TaskState.FAILED,
  cancelled: TaskState.CANCELED,
};

const RECORD_STATE: Readonly<Partial<Record<TaskState, RecordState>>> = {
  [TaskState.SUBMITTED]: "submitted",
  [TaskState.WORKING]: "working",
  [TaskState.INPUT_REQUIRED]: "input-required",
  [TaskState.AUTH_REQUIRED]: "auth-required",
  [TaskState.COMPLETED]: "completed",
  [TaskState.FAILED]: "failed",
  [TaskState.CANCELED]: "canceled",
};

function isKnownStatus(status: string): status is RunStatus {
  return (RUN_STATUSES as readonly string[]).includes(status);
}

/**
 * The state that a run status shows as (OW-16). A status that Baton does not know is work in progress. With
 * `credential`, the open interrupt asks for a credential and the host is one that may (RFC 0199): then, and only then,
 * `waiting-input` is AUTH_REQUIRED.
 */
export function taskStateOf(status: string, credential = false): TaskState {
  if (status === "waiting-input" && credential) return TaskState.AUTH_REQUIRED;
  return isKnownStatus(status) ? STATE_OF[status] : TaskState.WORKING;
}

/** The stored spelling of a task state that a run can have; `working` for any other. */
export function recordStateOf(state: TaskState): RecordState {
  return RECORD_STATE[state] ?? "working";
}

export function isWaiting(status: string): boolean {
  return status.startsWith("waiting-");
}

export function isEnded(status: string): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}
