import { viewerOf } from "../backends/viewer.ts";
import type { Caller } from "../domain/caller.ts";
import { type TaskRecord, taskRecord } from "../domain/openwop/run-projection.ts";
import type { RunStore } from "../store/runs.ts";
import type { AgentDirectory } from "./agents.ts";

/** Reads the persisted record of a run-backed task; undefined for what the caller may not see and what is not one. */
export type TaskRecordReader = (caller: Caller, taskId: string) => Promise<TaskRecord | undefined>;

/** Authorised as a read of the run: who may see the task may see its record (OW-13). The record is live (OW-12). */
export function createTaskRecordReader(options: {
  readonly agents: AgentDirectory;
  readonly runs: RunStore;
}): TaskRecordReader {
  const { agents, runs } = options;
  return async (caller, taskId) => {
    const agent = agents.get(caller.agent);
    await agent.backend.refresh?.({ agent, caller, taskId });
    const run = await runs.read(agent.name, taskId, viewerOf(agent, caller));
    if (run === undefined) return undefined;
    return taskRecord({
      runId: run.id,
      contextId: run.contextId,
      state: run.state,
      interruptKind: run.interruptKind,
      updatedMs: run.updatedAt,
    });
  };
}
