/** What an endpoint may be granted to do; the names are those of the worker tools (todo-delegation.md 4.2). */
export const VERBS = [
  "create_for",
  "list_todos",
  "get_todo",
  "claim",
  "claim_next",
  "heartbeat",
  "complete",
  "fail",
  "release",
  "reject",
  "require_input",
  "require_auth",
  "add_artifact",
  "update_status",
  "get_messages",
  "get_default_lease",
  "set_default_lease",
] as const;

export type Verb = (typeof VERBS)[number];

export function isVerb(text: string): text is Verb {
  return (VERBS as readonly string[]).includes(text);
}

/** Verbs of a credential that only submits work, and of one that only does it. */
export const SUBMIT_VERBS: readonly Verb[] = ["create_for"];
export const WORK_VERBS: readonly Verb[] = VERBS.filter((verb) => verb !== "create_for");

/** Whose endpoint it is, for one that a friend request led to. */
export interface Friend {
  readonly grantId: string;
  /** The requester's persona, as it called itself. */
  readonly persona: string;
}

/** The authenticated identity of one request, resolved from the stored endpoint and from nothing else (SB-58). */
export interface Caller {
  /** Endpoint id. */
  readonly id: string;
  /** For logs and audit; not a secret. */
  readonly name: string;
  /** The one agent that the endpoint belongs to. */
  readonly agent: string;
  readonly queues: readonly string[];
  readonly verbs: ReadonlySet<Verb>;
  readonly capabilities: { readonly streaming: boolean; readonly push: boolean };
  /** Set for the endpoint of a friend. */
  readonly friend?: Friend;
  /** Holds the admin credential: sees and may answer the tasks of every client. Never set for an endpoint. */
  readonly operator?: true;
  /** Milliseconds since the epoch; absent: never. */
  readonly expiresAt?: number;
  /** Default lease of claims, in seconds; absent: the server's. */
  readonly defaultLeaseSeconds?: number;
}
