import { BatonError } from "../errors.ts";

/** Where the run of a task was forked from, when that was done through Baton (openwop.md 7, question 11). */
export interface Fork {
  /** `replay` emits the history of its source again; `branch` is new work, with effects of its own. */
  readonly mode: "replay" | "branch";
  readonly sourceTaskId: string;
}

/** A run that a host has just made of another. */
export interface MadeFork {
  readonly runId: string;
  readonly mode: Fork["mode"];
  readonly status: string;
}

/**
 * Reads a host's answer to `:fork`; undefined where it names no run. A mode that neither the answer nor the request
 * tells is taken for `replay`, which does less.
 */
export function readFork(answer: unknown, request: unknown): MadeFork | undefined {
  const { runId, mode, status } = fields(answer);
  if (typeof runId !== "string" || runId === "") return undefined;
  const told = mode ?? fields(request).mode;
  return {
    runId,
    mode: told === "branch" ? "branch" : "replay",
    status: typeof status === "string" ? status : "running",
  };
}

/** Whether nothing of the run may be told unasked: its events are history that was told before (OW-53). */
export function isReplay(fork: Fork | undefined): boolean {
  return fork?.mode === "replay";
}

/** The refusal of a push config on such a task. */
export function replayIsNotPushed(taskId: string): BatonError {
  return new BatonError("UnsupportedOperation", "the task is a replay of another; nothing of it is pushed", {
    metadata: { taskId },
  });
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
