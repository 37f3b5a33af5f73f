/** Tasks and their events in words. */
import { toJson } from "@bufbuild/protobuf";
import { timestampDate, ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type Artifact,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { isTerminal } from "../domain/todo.ts";
import { printableLine } from "./display-width.ts";
import { EXIT, type ExitCode } from "./exit.ts";

/** Such as `input-required`. */
export function stateWord(state: TaskState | undefined): string {
  return (TaskState[state ?? TaskState.UNSPECIFIED] ?? "unspecified").toLowerCase().replaceAll("_", "-");
}

/** The state that a word or a full name stands for, or undefined. */
export function stateOfWord(word: string): TaskState | undefined {
  const name = word
    .toUpperCase()
    .replaceAll("-", "_")
    .replace(/^TASK_STATE_/, "");
  const state = (TaskState as unknown as Record<string, TaskState | undefined>)[name];
  return state === TaskState.UNSPECIFIED ? undefined : state;
}

export function partText(part: Part): string {
  const { content } = part;
  if (content.case === "text" || content.case === "url") return content.value;
  if (content.case === "data") return JSON.stringify(toJson(ValueSchema, content.value));
  const { filename, mediaType } = part;
  const kind = mediaType ? `, ${printableLine(mediaType)}` : "";
  return `(${printableLine(filename || "file")}, ${content.value?.length ?? 0} bytes${kind})`;
}

export function messageText(message: Message | undefined): string {
  return (message?.parts ?? []).map(partText).join("\n");
}

function artifactText(artifact: Artifact): string {
  return `[${printableLine(artifact.name || artifact.artifactId)}] ${artifact.parts.map(partText).join("")}`;
}

/** A whole task, for people. */
export function taskText(task: Task): string {
  const { status } = task;
  const lines = [`${task.id}  ${stateWord(status?.state)}`];
  if (status?.timestamp !== undefined) lines[0] += `  ${timestampDate(status.timestamp).toISOString()}`;
  if (status?.message !== undefined) lines.push(messageText(status.message));
  return [...lines, ...task.artifacts.map(artifactText)].join("\n");
}

/** One event of a stream, for people. */
export function eventText({ payload }: StreamResponse): string {
  switch (payload.case) {
    case "task":
      return taskText(payload.value);
    case "statusUpdate": {
      const { status } = payload.value;
      const said = messageText(status?.message);
      return said === "" ? stateWord(status?.state) : `${stateWord(status?.state)}: ${said}`;
    }
    case "artifactUpdate":
      return payload.value.artifact === undefined ? "" : artifactText(payload.value.artifact);
    case "message":
      return messageText(payload.value);
    default:
      return "";
  }
}

/** The state that an event brings; undefined for an artifact. */
export function stateOfEvent({ payload }: StreamResponse): TaskState | undefined {
  if (payload.case === "task" || payload.case === "statusUpdate") return payload.value.status?.state;
  return undefined;
}

/** What a client should do about the state, if anything. */
export function advice(taskId: string, state: TaskState | undefined): string | undefined {
  if (state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED) {
    return `The task waits for you. Answer it: baton send --task ${taskId} "..."`;
  }
  if (state === undefined || isTerminal(state)) return undefined;
  return `The task is not finished. Follow it: baton task watch ${taskId}`;
}

/** A task that ended otherwise than completed is a failure of what was asked. */
export function exitCodeOf(state: TaskState | undefined): ExitCode {
  const ended = state !== undefined && isTerminal(state);
  return ended && state !== TaskState.COMPLETED ? EXIT.failed : EXIT.ok;
}
