import { BatonError } from "./errors.ts";

/**
 * Room above what clients and workers may fill, in bytes: an end can always be told, whoever tells it, and what frames
 * the task in an answer has its place.
 */
const TASK_RESERVE_BYTES = 64 * 1024;

/** Default of `limits.taskBytes`: with its frame, less than the 4 MiB that gRPC clients take in one message. */
export const TASK_BYTES = 4 * 1024 * 1024 - 64 * 1024;

/** What clients and workers may fill of a task, in bytes. */
export function fillableBytes(taskBytes: number): number {
  return taskBytes - TASK_RESERVE_BYTES;
}

/** The refusal of what would make a task too large; the task stays as it was. `field`: what brought the bytes. */
export function taskTooLarge(field: string, taskBytes: number): BatonError {
  const description = `would make the task larger than ${fillableBytes(taskBytes)} bytes`;
  return new BatonError("TaskTooLarge", `${field}: ${description}`, {
    violations: [{ field, description }],
    metadata: { maxBytes: String(fillableBytes(taskBytes)) },
  });
}
