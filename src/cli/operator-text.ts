/** What operators see, in words. */
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import { durationMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { InvalidArgumentError } from "commander";
import type { GetTaskResponse, TaskSummary } from "../../gen/baton/admin/v1/task_pb.js";
import type { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { printableLine } from "./display-width.ts";
import { timeText } from "./push-text.ts";
import { stateOfWord, stateWord } from "./task-text.ts";

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;

/** A length of time by its two largest units, such as `2h 5m` or `3.2s`. */
export function spanText(ms: number): string {
  if (ms < 10_000) return `${(Math.max(0, ms) / 1000).toFixed(1)}s`;
  let rest = ms;
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.slice(0, 2).join(" ");
}

export function durationText(duration: Duration | undefined): string {
  return duration === undefined ? "" : spanText(durationMs(duration));
}

/** How long ago, or empty for never. */
export function ageText(time: Timestamp | undefined, now: number): string {
  return time === undefined ? "" : spanText(now - timestampMs(time));
}

/** Parses the name of a task's state; may be given more than once. */
export function states(word: string, before: readonly TaskState[] | undefined): readonly TaskState[] {
  const found = stateOfWord(word);
  if (found === undefined) {
    throw new InvalidArgumentError(
      "Give submitted, working, input-required, auth-required, completed, failed, canceled or rejected.",
    );
  }
  return [...(before ?? []), found];
}

/** A row of a table of tasks; see {@link TASK_HEAD}. */
export function taskRow(task: TaskSummary): string[] {
  const { id, agent, queue, state, statusAt, holder, statusText, title } = task;
  return [id, agent, queue, stateWord(state), timeText(statusAt), holder?.worker ?? "", statusText || title];
}

export const TASK_HEAD = ["TASK", "AGENT", "QUEUE", "STATE", "SINCE", "WORKER", "SAYS"];

function whenText(time: Timestamp | undefined): string {
  return time === undefined ? "" : timeText(time);
}

/** Where a task is and why, a fact a line. */
export function factsText({ summary, work, pushConfigs, removedAt }: GetTaskResponse): string {
  if (summary === undefined) return "";
  const facts: [string, string][] = [
    ["task", summary.id],
    ["state", `${stateWord(summary.state)} since ${timeText(summary.statusAt)}`],
    ["says", summary.statusText],
    ["title", summary.title],
    ["agent", summary.agent],
    ["context", summary.contextId],
    ["endpoint", summary.endpointId],
  ];
  if (work.case === "todo") {
    const todo = work.value;
    const { holder } = summary;
    facts.push(
      ["queue", todo.position === 0n ? summary.queue : `${summary.queue}, no. ${todo.position} in line`],
      ["assignee", todo.assignee],
      ["attempt", `${summary.attempt} of ${summary.maxAttempts}`],
      ["held by", holder === undefined ? "" : `${holder.worker || holder.endpointId}`],
      ["lease until", whenText(holder?.expiresAt)],
      ["not before", whenText(todo.notBefore)],
      ["waits since", whenText(todo.waitingSince)],
      ["waits until", whenText(todo.waitEndsAt)],
      ["last failure", todo.lastFailure],
    );
  } else if (work.case === "run") {
    const run = work.value;
    facts.push(
      ["run", run.status],
      ["interrupt", [run.interruptKind, run.interruptTitle].filter((text) => text !== "").join(": ")],
      ["asks", run.questions.map(({ question }) => question).join("; ")],
      ["actions", run.actions.join(", ")],
      ["approvers", run.approvers.join(", ")],
      ["followed by", run.follower],
      ["error", run.errorCode],
    );
  }
  if (pushConfigs > 0) facts.push(["push configs", String(pushConfigs)]);
  facts.push(["kept until", whenText(removedAt)]);
  const shown = facts.filter(([, value]) => value !== "");
  // A title of several lines would read like facts of ours.
  return shown.map(([name, value]) => `${name.padEnd(13)} ${printableLine(value)}`).join("\n");
}
