import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { Badge, type Tone } from "../parts/badge.tsx";

interface StateText {
  readonly state: TaskState;
  /** As in addresses and for people. */
  readonly word: string;
  readonly tone: Tone;
}

/** In the order in which a task passes through them. */
export const TASK_STATES: readonly StateText[] = [
  { state: TaskState.SUBMITTED, word: "submitted", tone: "idle" },
  { state: TaskState.WORKING, word: "working", tone: "busy" },
  { state: TaskState.INPUT_REQUIRED, word: "input required", tone: "waiting" },
  { state: TaskState.AUTH_REQUIRED, word: "auth required", tone: "waiting" },
  { state: TaskState.COMPLETED, word: "completed", tone: "good" },
  { state: TaskState.FAILED, word: "failed", tone: "bad" },
  { state: TaskState.CANCELED, word: "canceled", tone: "idle" },
  { state: TaskState.REJECTED, word: "rejected", tone: "bad" },
];

const ENDED: readonly TaskState[] = [
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
];

export const hasEnded = (state: TaskState): boolean => ENDED.includes(state);

export const isWaiting = (state: TaskState): boolean =>
  state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED;

const textOf = (state: TaskState): StateText =>
  TASK_STATES.find((each) => each.state === state) ?? { state, word: "unknown", tone: "idle" };

export function StateBadge({ state }: { readonly state: TaskState }) {
  const { word, tone } = textOf(state);
  return <Badge tone={tone}>{word}</Badge>;
}
