import { toJson } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "./client-options.ts";
import type { ExitCode } from "./exit.ts";
import { type FollowOptions, follow } from "./follow.ts";
import { note, printResult } from "./output.ts";
import { advice, eventText, exitCodeOf, stateOfEvent } from "./task-text.ts";

/** Prints the events of a task as they come; answers the exit code that its last state stands for. */
export async function printStream(
  client: A2AClient,
  options: Omit<FollowOptions, "onCut"> & { readonly json: boolean | undefined },
): Promise<ExitCode> {
  let state: TaskState | undefined;
  let id = options.taskId ?? "";
  const onCut = () => note("The stream was cut; opening it again.");
  for await (const event of follow(client, { ...options, onCut })) {
    if (event.payload.case === "task") id = event.payload.value.id;
    printResult(options.json, toJson(StreamResponseSchema, event), () => eventText(event));
    state = stateOfEvent(event) ?? state;
    if (waits(event)) note(advice(id, state) ?? "");
  }
  return exitCodeOf(state);
}

function waits(event: StreamResponse): boolean {
  const state = stateOfEvent(event);
  return state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED;
}
