import type { Queue } from "../../../gen/baton/admin/v1/queue_pb.js";
import type { GetStatsResponse } from "../../../gen/baton/admin/v1/stats_pb.js";
import { counted } from "../parts/short.ts";
import { address } from "../routing/place.ts";
import { countDead, countTasks, WAITING } from "../shell/attention.tsx";

/** Something that an operator should look at. */
export interface Concern {
  readonly text: string;
  /** Where to look. */
  readonly href?: string;
  /** Records may be lost, or nobody is served. */
  readonly grave: boolean;
}

/** What needs a person, the gravest first. */
export function concernsOf(
  stats: GetStatsResponse,
  pendingGrants: number,
  queues: readonly Queue[],
): readonly Concern[] {
  const concerns: Concern[] = [];
  const grave = (text: string) => concerns.push({ text, grave: true });
  const look = (text: string, href: string) => concerns.push({ text, href, grave: false });

  for (const server of stats.redisServers) {
    if (server.evictedKeys > 0n)
      grave(`Redis gave up ${server.evictedKeys} keys for want of memory: records were lost.`);
    if (!server.appendOnly) grave("Redis keeps no append-only file: a restart of it loses records.");
    else if (!server.appendOnlyOk) grave("Redis could not write its append-only file the last time.");
  }
  const unready = stats.replicas.filter(({ ready }) => !ready);
  if (unready.length > 0) grave(`${counted(unready.length, "replica takes", "replicas take")} no traffic.`);

  for (const { agent, name, depth, workers } of queues) {
    const ready = Number(depth?.ready ?? 0n);
    if (ready > 0 && workers === 0) {
      look(
        `${counted(ready, "task waits", "tasks wait")} in ${agent} / ${name}, and no worker is there.`,
        address(["queues"], { agent }),
      );
    }
  }
  const waiting = countTasks(stats, ...WAITING);
  if (waiting > 0)
    look(
      `${counted(waiting, "task waits", "tasks wait")} for an answer.`,
      address(["inbox"], { kind: "tasks" }),
    );
  if (pendingGrants > 0) {
    look(
      `${counted(pendingGrants, "friend request waits", "friend requests wait")} for a decision.`,
      address(["inbox"]),
    );
  }
  const dead = countDead(stats);
  if (dead.todos > 0)
    look(`${counted(dead.todos, "task has", "tasks have")} failed for good.`, address(["dead-letters"]));
  if (dead.pushes > 0) {
    look(
      `${counted(dead.pushes, "push was", "pushes were")} given up.`,
      address(["dead-letters"], { kind: "pushes" }),
    );
  }
  return concerns;
}
