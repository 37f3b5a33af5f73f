import { toJson } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type StreamResponse,
  StreamResponseSchema,
  TaskState,
  type TaskStatus,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { isTerminal } from "../domain/todo.ts";
import type { A2AClient } from "./client-options.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { type FollowOptions, follow } from "./follow.ts";
import { LiveLine } from "./live-line.ts";
import { note, printResult } from "./output.ts";
import { percentOf } from "./percent.ts";
import { advice, eventText, exitCodeOf, messageText, stateOfEvent, stateWord } from "./task-text.ts";

/**
 * Prints the events of a task as they come; answers the exit code that its last state stands for. On a terminal, progress
 * is shown in one line that changes in place; elsewhere each event is a line of its own. Ctrl-C leaves the task alone.
 */
export async function printStream(
  client: A2AClient,
  options: Omit<FollowOptions, "onCut"> & { readonly json: boolean | undefined },
): Promise<ExitCode> {
  let state: TaskState | undefined;
  let id = options.taskId ?? "";
  let live: LiveLine | undefined;
  const say = (text: string) => {
    live?.clear();
    note(text);
  };
  const onInterrupt = () => {
    live?.end();
    if (id !== "") note(`The task goes on. Watch it again: baton task watch ${id}`);
    process.exit(EXIT.interrupted);
  };
  process.once("SIGINT", onInterrupt);
  try {
    const onCut = () => say("The stream was cut; opening it again.");
    for await (const event of follow(client, { ...options, onCut })) {
      if (event.payload.case === "task") id = event.payload.value.id;
      const status = statusOf(event);
      if (options.json !== true && process.stderr.isTTY)
        live ??= new LiveLine(process.stderr, beganAt(status));
      if (live === undefined || !isProgress(event, state)) {
        live?.clear();
        printResult(options.json, toJson(StreamResponseSchema, event), () => eventText(event));
      }
      state = stateOfEvent(event) ?? state;
      if (waits(state) && status !== undefined) say(advice(id, state) ?? "");
      if (state !== undefined && isTerminal(state)) live?.clear();
      else live?.update(lineOf(status));
    }
  } finally {
    live?.end();
    process.off("SIGINT", onInterrupt);
  }
  return exitCodeOf(state);
}

/** Words from a worker, and nothing else that is new: the line shows them. */
function isProgress({ payload }: StreamResponse, before: TaskState | undefined): boolean {
  return (
    payload.case === "statusUpdate" &&
    payload.value.status?.state === TaskState.WORKING &&
    before === TaskState.WORKING
  );
}

function lineOf(status: TaskStatus | undefined) {
  if (status === undefined) return {};
  const said = messageText(status.message);
  const state = stateWord(status.state);
  return said === "" ? { state } : { state, said, percent: percentOf(status.message) };
}

function statusOf({ payload }: StreamResponse): TaskStatus | undefined {
  return payload.case === "task" || payload.case === "statusUpdate" ? payload.value.status : undefined;
}

function beganAt(status: TaskStatus | undefined): number {
  return status?.timestamp === undefined ? Date.now() : Math.min(Date.now(), timestampMs(status.timestamp));
}

function waits(state: TaskState | undefined): boolean {
  return state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED;
}
