/** The task that the in-memory peers answer GetTask with: as large as the one that Baton is asked for. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Role, type Task, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";

export const TASK_ID = "td_00000000-0000-4000-8000-000000000000";
const CONTEXT_ID = "00000000-0000-4000-8000-000000000001";

export function sampleTask(): Task {
  return create(TaskSchema, {
    id: TASK_ID,
    contextId: CONTEXT_ID,
    status: { state: TaskState.SUBMITTED, timestamp: timestampFromMs(Date.UTC(2026, 0, 1, 0, 0, 0, 123)) },
    history: [
      {
        messageId: "00000000-0000-4000-8000-000000000002",
        contextId: CONTEXT_ID,
        taskId: TASK_ID,
        role: Role.USER,
        parts: [{ content: { case: "text", value: "measure me" } }],
      },
    ],
  });
}
