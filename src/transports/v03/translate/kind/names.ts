import { Role, TaskState } from "../../../../../gen/lf/a2a/v1/a2a_pb.js";

/** Task states as the JSON-RPC dialect of 0.3 writes them (A2A-162). */
const STATES: ReadonlyMap<TaskState, string> = new Map([
  [TaskState.UNSPECIFIED, "unknown"],
  [TaskState.SUBMITTED, "submitted"],
  [TaskState.WORKING, "working"],
  [TaskState.INPUT_REQUIRED, "input-required"],
  [TaskState.COMPLETED, "completed"],
  [TaskState.CANCELED, "canceled"],
  [TaskState.FAILED, "failed"],
  [TaskState.REJECTED, "rejected"],
  [TaskState.AUTH_REQUIRED, "auth-required"],
]);

const STATE_NUMBERS = new Map([...STATES].map(([state, name]) => [name, state]));

/** A state that a later version may add is `unknown` to a 0.3 peer. */
export function stateName(state: TaskState): string {
  return STATES.get(state) ?? "unknown";
}

export function stateOfName(name: string): TaskState | undefined {
  return STATE_NUMBERS.get(name);
}

export const STATE_NAMES: readonly string[] = [...STATE_NUMBERS.keys()];

/** 0.3 has two roles and no third; what is not the user speaks for the agent. */
export function roleName(role: Role): string {
  return role === Role.USER ? "user" : "agent";
}

/** Roles of 1.0 ProtoJSON by their names in 0.3. */
export const ROLES: ReadonlyMap<string, string> = new Map([
  ["user", "ROLE_USER"],
  ["agent", "ROLE_AGENT"],
]);
