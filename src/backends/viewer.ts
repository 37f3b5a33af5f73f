import type { Caller } from "../domain/caller.ts";
import type { Viewer } from "../store/viewer.ts";
import type { Agent } from "./backend.ts";

/** Whose eyes a caller reads an agent's tasks with (design.md section 7, "who sees a task"). */
export function viewerOf(agent: Agent, caller: Caller): Viewer {
  const viewer = { id: caller.id, shared: agent.config.visibility === "queue", queues: caller.queues };
  return caller.operator === true ? { ...viewer, all: true } : viewer;
}

/** The indexes that a task stands in, for its owner and, where the agent shares queues, for its queue. */
export function scopesOf(agent: Agent, ownerId: string, queue: string): string[] {
  return agent.config.visibility === "queue" ? [`e:${ownerId}`, `q:${queue}`] : [`e:${ownerId}`];
}

/** The indexes that a caller's listing reads. A task stands in one of them only, so nothing is listed twice. */
export function listingScopes(agent: Agent, caller: Caller): string[] {
  if (agent.config.visibility !== "queue") return [`e:${caller.id}`];
  return caller.queues.map((queue) => `q:${queue}`);
}
