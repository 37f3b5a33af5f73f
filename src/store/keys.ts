/**
 * The Redis keyspace (design.md section 4). Every key of an agent carries one hash tag, so that a script stays in one
 * cluster slot. Nothing else in the code spells a key; the scripts build theirs from the prefix made here.
 */

/** `baton:{agent}:`, the start of every key of an agent. */
export function agentPrefix(agent: string): string {
  return `baton:{${agent}}:`;
}

/** Channel on which the events of one task are published; its shard is the agent's. */
export function taskChannel(agent: string, taskId: string): string {
  return `${agentPrefix(agent)}task:${taskId}`;
}

/** Channel that rings when a queue has work. */
export function queueChannel(agent: string, queue: string): string {
  return `${agentPrefix(agent)}queue:${queue}:bell`;
}

/** The todos of a queue in one state; the scripts build the same key in lib/todo.lua. */
export function queueStateKey(agent: string, queue: string, state: string): string {
  return `${agentPrefix(agent)}queue:${queue}:${state}`;
}

/** Says that a todo, claimed so many times before, was rung for. */
export function ringKey(agent: string, todoId: string, claims: number): string {
  return `${agentPrefix(agent)}rung:${todoId}:${claims}`;
}

/** Stream that records how protocol versions were agreed on. */
export function negotiationsKey(agent: string): string {
  return `${agentPrefix(agent)}negotiations`;
}

/** Hash of a vended endpoint. */
export function endpointKey(id: string): string {
  return `baton:endpoint:${id}`;
}

/** Maps the SHA-256 of a credential to its endpoint id. */
export function credentialKey(sha256: string): string {
  return `baton:credential:${sha256}`;
}

/** Ids of all endpoints by creation time. */
export const ENDPOINTS_KEY = "baton:endpoints";

/** Endpoints by the time at which their end, and what follows from it, is due. */
export const ENDING_ENDPOINTS_KEY = "baton:endpoints:ending";

/** Start of every key of friend requests: one hash tag, so that each of their scripts stays in one cluster slot. */
export const GRANTS_PREFIX = "baton:{grants}:";

/** The channel that announces revocations to every replica. */
export const REVOCATION_CHANNEL = "baton:revocations";

/** Signs page tokens; made once, shared by all replicas. */
export const PAGE_TOKEN_SECRET_KEY = "baton:secret:page-token";

/** Token bucket of one limit and one subject, such as an endpoint or an address. */
export function bucketKey(limit: string, subject: string): string {
  return `baton:bucket:${limit}:${subject}`;
}

/** Open streams of an endpoint, on all replicas. */
export function streamSlotsKey(endpointId: string): string {
  return `baton:streams:${endpointId}`;
}

/** Channel that rings when an agent's outbox has work. */
export function outboxChannel(agent: string): string {
  return `${agentPrefix(agent)}outbox:bell`;
}

/** Channel that names the push configs that were just deleted. */
export function pushGoneChannel(agent: string): string {
  return `${agentPrefix(agent)}push:gone`;
}

/** Limiter and circuit breaker of one receiving host. */
export function pushHostKey(host: string): string {
  return `baton:push-host:${host}`;
}

/** Stream of what operators did. */
export const ADMIN_AUDIT_KEY = "baton:admin-audit";

/** The processes of the gateway that are alive. */
export const REPLICAS_KEY = "baton:replicas";
