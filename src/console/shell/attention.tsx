/** What every page shows of the whole: how the gateway is, and how much waits for a person. */
import { Code, ConnectError } from "@connectrpc/connect";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { GrantState } from "../../../gen/baton/admin/v1/grant_pb.js";
import type { GetStatsResponse } from "../../../gen/baton/admin/v1/stats_pb.js";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { grants, stats } from "../api/clients.ts";
import { type Live, useLive } from "../api/live.ts";

export interface Attention {
  /** Absent where the operator may not read it. */
  readonly stats: GetStatsResponse | undefined;
  readonly pendingGrants: number;
}

const EVERY_MS = 3000;

const Context = createContext<Live<Attention> | undefined>(undefined);

export const AttentionContext = Context.Provider;

export function useReadAttention(): Live<Attention> {
  return useLive(
    "attention",
    async (signal) => {
      const [counted, asked] = await Promise.all([
        // A person may decide on friend requests and see nothing of the rest.
        stats
          .getStats({}, { signal })
          .catch((error: unknown) => (isForbidden(error) ? undefined : Promise.reject(error))),
        grants.listGrants({ states: [GrantState.PENDING] }, { signal }),
      ]);
      return { stats: counted, pendingGrants: asked.grants.length };
    },
    EVERY_MS,
  );
}

export function useAttention(): Live<Attention> {
  const live = useContext(Context);
  if (live === undefined) throw new Error("outside of the shell");
  return live;
}

/** Names of the agents; empty while they are not known. */
export function useAgents(): readonly string[] {
  return useAttention().data?.stats?.agents.map(({ agent }) => agent) ?? [];
}

/** Whether it is not known yet which agents there are; what is asked for each of them had better wait. */
export function useAgentsPending(): boolean {
  const { data, failure } = useAttention();
  return data === undefined && failure === undefined;
}

/** How many tasks are in one of the states, over all agents. */
export function countTasks(counted: GetStatsResponse | undefined, ...states: readonly TaskState[]): number {
  const counts = counted?.agents.flatMap(({ tasks }) => tasks) ?? [];
  return counts.reduce((sum, { state, count }) => sum + (states.includes(state) ? Number(count) : 0), 0);
}

export const WAITING: readonly TaskState[] = [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];

export function countDead(counted: GetStatsResponse | undefined): {
  readonly todos: number;
  readonly pushes: number;
} {
  const sum = (read: (agent: GetStatsResponse["agents"][number]) => bigint) =>
    counted?.agents.reduce((total, agent) => total + Number(read(agent)), 0) ?? 0;
  return { todos: sum(({ deadTodos }) => deadTodos), pushes: sum(({ deadPushes }) => deadPushes) };
}

function isForbidden(error: unknown): boolean {
  return error instanceof ConnectError && [Code.PermissionDenied, Code.Unimplemented].includes(error.code);
}
