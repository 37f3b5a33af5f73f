/** What each view of a task is given. */
export interface TaskViewProps {
  readonly agent: string;
  readonly id: string;
  /** Pause between readings, in milliseconds: a task that has ended seldom changes. */
  readonly everyMs: number;
  /** Of the task's record: what is shown is read anew as soon as it changes. */
  readonly version: bigint;
}
