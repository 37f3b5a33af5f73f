import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Part, Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { TaskStore } from "../../store/tasks.ts";
import type { Call } from "../call.ts";

/** Id of the artifact that holds the result of a tool call that completed a todo. */
export const RESULT_ARTIFACT = "result";

/**
 * The last outcome of a todo that the caller drains: what completed it, else the last thing that its worker said. It is
 * read from the task, since there is no second record of it (SB-6).
 */
export async function readTodoResult(
  tasks: TaskStore,
  id: string,
  call: Call,
): Promise<JsonValue | undefined> {
  const viewer = { id: call.caller.id, shared: true, queues: call.caller.queues };
  const shape = { historyLength: 0, includeArtifacts: true };
  const snapshot = await tasks.read(call.agent, id, viewer, shape);
  return snapshot === undefined ? undefined : resultOf(snapshot.task);
}

function resultOf(task: Task): JsonValue | undefined {
  const artifact = task.artifacts.find(({ artifactId }) => artifactId === RESULT_ARTIFACT);
  return contentOf(artifact?.parts ?? []) ?? contentOf(task.status?.message?.parts ?? []);
}

/** The first data, else the first text. */
function contentOf(parts: readonly Part[]): JsonValue | undefined {
  for (const { content } of parts) if (content.case === "data") return toJson(ValueSchema, content.value);
  for (const { content } of parts) if (content.case === "text") return content.value;
  return undefined;
}
