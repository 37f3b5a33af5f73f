import { clone } from "@bufbuild/protobuf";
import {
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  type TaskStatus,
} from "../../gen/lf/a2a/v1/a2a_pb.js";

/** How much a push carries: the whole event, or states and artifact ids only (OW-50). */
export type PushContent = "full" | "references";

/** The event without what was said and made: the state, and which artifact changed. */
export function referencesOf(event: StreamResponse): StreamResponse {
  const copy = clone(StreamResponseSchema, event);
  const { payload } = copy;
  if (payload.case === "statusUpdate") {
    withoutMessage(payload.value.status);
    delete payload.value.metadata;
  } else if (payload.case === "artifactUpdate") {
    if (payload.value.artifact !== undefined) payload.value.artifact.parts = [];
    delete payload.value.metadata;
  } else if (payload.case === "task") {
    payload.value = taskReferencesOf(payload.value);
  }
  return copy;
}

/** The task without history, outputs and questions. */
export function taskReferencesOf(task: Task): Task {
  const copy = clone(TaskSchema, task);
  copy.history = [];
  for (const artifact of copy.artifacts) artifact.parts = [];
  withoutMessage(copy.status);
  delete copy.metadata;
  return copy;
}

function withoutMessage(status: TaskStatus | undefined): void {
  if (status !== undefined) delete status.message;
}
