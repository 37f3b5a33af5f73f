import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** States of a todo (todo-delegation.md 1.2). A failure with attempts left is `pending` again; only a dead letter is `failed`. */
export const TODO_STATES = [
  "pending",
  "claimed",
  "input-required",
  "auth-required",
  "done",
  "failed",
  "canceled",
  "rejected",
] as const;

export type TodoState = (typeof TODO_STATES)[number];

/** The A2A state that each todo state shows as. A Task is this projection and nothing else (SB-6). */
export const TASK_STATE_OF: Readonly<Record<TodoState, TaskState>> = {
  pending: TaskState.SUBMITTED,
  claimed: TaskState.WORKING,
  "input-required": TaskState.INPUT_REQUIRED,
  "auth-required": TaskState.AUTH_REQUIRED,
  done: TaskState.COMPLETED,
  failed: TaskState.FAILED,
  canceled: TaskState.CANCELED,
  rejected: TaskState.REJECTED,
};

/**
 * Everything that can happen to a todo after it exists, and where it leads (todo-delegation.md 1.3). What is not
 * listed is a conflict (SB-9). The store's scripts run on this very table: see `store/script.ts`.
 */
export const TRANSITIONS = {
  claim: { pending: "claimed" },
  progress: { claimed: "claimed" },
  complete: { claimed: "done" },
  fail_retry: { claimed: "pending" },
  fail_dead: { claimed: "failed" },
  release: { claimed: "pending", "input-required": "pending", "auth-required": "pending" },
  reject: { pending: "rejected", claimed: "rejected" },
  require_input: { claimed: "input-required" },
  require_auth: { claimed: "auth-required" },
  reply: { "input-required": "claimed", "auth-required": "claimed" },
  resume: { "auth-required": "claimed" },
  lease_requeue: { claimed: "pending" },
  lease_dead: { claimed: "failed" },
  interrupt_timeout: { "input-required": "failed", "auth-required": "failed" },
  retry: { failed: "pending" },
  cancel: {
    pending: "canceled",
    claimed: "canceled",
    "input-required": "canceled",
    "auth-required": "canceled",
  },
  revoke: { pending: "failed", claimed: "failed", "input-required": "failed", "auth-required": "failed" },
} as const satisfies Record<string, Partial<Record<TodoState, TodoState>>>;

const TERMINAL: ReadonlySet<TaskState> = new Set([
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
]);

/** A terminal task never changes again (A2A-55). */
export function isTerminal(state: TaskState): boolean {
  return TERMINAL.has(state);
}

/** The task waits for its client (A2A-30). */
export function isInterrupted(state: TaskState): boolean {
  return state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED;
}
