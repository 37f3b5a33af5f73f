/** Friend requests: what can be asked for, and how a friendship moves (todo-delegation.md 2.6). */
import type { Verb } from "./caller.ts";

/** Verbs that a friend can be granted at all; the operator's `grantableVerbs` is a part of them (SB-63). */
export const FRIEND_VERBS = [
  "create_for",
  "list_todos",
  "claim",
  "claim_next",
  "heartbeat",
  "complete",
  "fail",
  "release",
] as const satisfies readonly Verb[];

export const GRANT_STATES = ["pending", "approved", "denied", "revoked"] as const;
export type GrantState = (typeof GRANT_STATES)[number];

/** What is asked for and what is given. */
export interface GrantScope {
  readonly queues: readonly string[];
  readonly verbs: readonly Verb[];
  readonly streaming: boolean;
  readonly push: boolean;
}

/** The first member of `granted` that `asked` does not hold, in words; undefined where it only narrows (SB-62). */
export function widening(asked: GrantScope, granted: GrantScope): string | undefined {
  for (const queue of granted.queues) if (!asked.queues.includes(queue)) return `queue ${queue}`;
  for (const verb of granted.verbs) if (!asked.verbs.includes(verb)) return `verb ${verb}`;
  if (granted.streaming && !asked.streaming) return "streaming";
  if (granted.push && !asked.push) return "push";
  return undefined;
}
