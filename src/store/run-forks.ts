import type { Fork } from "../domain/openwop/fork.ts";
import type { RunView } from "../domain/openwop/run-fold.ts";
import { metadataBytes, type ProjectedStatus } from "../domain/openwop/run-projection.ts";
import type { RedisConnection } from "./connection.ts";
import { runScript } from "./script.ts";
import { verdictOf } from "./tasks.ts";

/** Forks of runs, as tasks of whoever owns the source. */
export class RunForkStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** Makes the task of a fork, once. `notfound`: the source is no task, so the fork is none either. */
  async add(
    agent: string,
    input: {
      readonly runId: string;
      readonly fork: Fork;
      readonly view: RunView;
      readonly projected: ProjectedStatus;
      readonly actor: string;
    },
  ): Promise<"ok" | "known" | "notfound"> {
    const { runId, fork, view, projected, actor } = input;
    const reply = await runScript(this.#redis, "run_fork", agent, {
      id: runId,
      source: fork.sourceTaskId,
      fork: JSON.stringify(fork),
      state: projected.state,
      view: JSON.stringify(view),
      meta: metadataBytes(projected.metadata),
      actor,
    });
    return verdictOf(reply).verdict as "ok" | "known" | "notfound";
  }
}
