import type { Part, Task } from "../../gen/lf/a2a/v1/a2a_pb.js";

/**
 * How much larger a task is in memory than on the wire, with its other forms, at most: measured 1 for long texts, 5 for
 * metadata, 27 for structured data of many small values.
 */
const FACTOR = 8;
const DATA_FACTOR = 32;
/** What a message or artifact, and each part of it, costs however short it is, in bytes. */
const OWNER = 384;
const PART = 128;

/** How much memory a decoded task takes, in bytes: rather too much than too little. `wireBytes`: its size on the wire. */
export function memoryOf(task: Task, wireBytes: number): number {
  const owners: readonly { readonly parts: readonly Part[] }[] = [
    ...task.history,
    ...task.artifacts,
    ...(task.status?.message === undefined ? [] : [task.status.message]),
  ];
  let parts = 0;
  let hasData = false;
  for (const owner of owners) {
    parts += owner.parts.length;
    hasData ||= owner.parts.some(({ content }) => content.case === "data");
  }
  return wireBytes * (hasData ? DATA_FACTOR : FACTOR) + owners.length * OWNER + parts * PART;
}
