import type { Caller } from "../../domain/caller.ts";
import type { MadeFork } from "../../domain/openwop/fork.ts";
import { NEW_RUN } from "../../domain/openwop/run-fold.ts";
import { projectStatus } from "../../domain/openwop/run-projection.ts";
import type { RunForkStore } from "../../store/run-forks.ts";
import type { RunStore } from "../../store/runs.ts";
import type { HostLink } from "./host-link.ts";

/**
 * Notes a fork that a host made of the run of a task. A fork of a run that is no task is left alone: nothing of it can
 * be pushed.
 */
export async function markFork(
  options: { readonly link: HostLink; readonly runs: RunStore; readonly forks: RunForkStore },
  sourceTaskId: string,
  made: MadeFork,
  caller: Caller,
): Promise<void> {
  const { link, runs, forks } = options;
  const source = await runs.read(link.agent, sourceTaskId);
  if (source === undefined) return;
  const fork = { mode: made.mode, sourceTaskId };
  // Whatever else the run already is comes when it is followed.
  const view = { ...NEW_RUN, status: made.status === "pending" ? "pending" : "running" };
  const projected = projectStatus(view, await link.rules(), {
    messageId: "",
    errorText: "",
    permittedPurposes: source.purposes,
    fork,
  });
  await forks.add(link.agent, { runId: made.runId, fork, view, projected, actor: caller.name });
}
