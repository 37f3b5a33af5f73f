/** Todos as the store's scripts take and answer them. */
import type { Artifact, Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type TraceContext, traceContextOf } from "../domain/trace-context.ts";
import type { Reply } from "./connection.ts";
import type { PushRegistration } from "./push-configs.ts";
import { type TaskSnapshot, verdictOf } from "./tasks.ts";
import { TODO_FIELDS } from "./todo-fields.ts";

type TodoField = (typeof TODO_FIELDS)[number];

const PLACE = Object.fromEntries(TODO_FIELDS.map((name, index) => [name, index])) as Record<
  TodoField,
  number
>;
const NO_BYTES = Buffer.alloc(0);

/** A todo as stored, for workers. Times in milliseconds since the epoch. */
export interface TodoRecord {
  readonly id: string;
  readonly queue: string;
  readonly state: string;
  readonly title: string;
  readonly contextId: string;
  readonly firstMessage: Buffer;
  /** SendMessageRequest bytes without the message. */
  readonly request: Buffer;
  readonly claimant: string;
  readonly assignee: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly lease: number | undefined;
  readonly notBefore: number | undefined;
  readonly created: number;
  readonly updated: number;
  readonly seq: number;
  readonly source: string;
  readonly kind: string;
  readonly messages: number;
  readonly attemptSeq: number;
  readonly attemptsPruned: number;
  /** Where the call that created it stands in its trace. */
  readonly trace: TraceContext | undefined;
}

/** One attempt as stored; outcome and disposition in the words of todo-delegation.md 1.7. */
export interface AttemptRecord {
  readonly seq: number;
  readonly attempt: number;
  readonly claimant: string;
  readonly claimedAt: number;
  readonly lastHeartbeatAt?: number;
  readonly endedAt?: number;
  readonly outcome?: string;
  readonly disposition?: string;
  readonly summary?: string;
  readonly summaryTruncated?: boolean;
  readonly artifact?: string;
}

/** What identifies the holder of a todo. `fence`: SHA-256 of the lease token in hex, empty for none. */
export interface Holder {
  readonly id: string;
  readonly name: string;
  readonly queues: readonly string[];
  readonly fence: string;
}

/** Why a call on a todo was refused. */
export type Refusal = "notfound" | "conflict";

/** Why something that adds to a task was refused. `full`: it would be too large. */
export type GrowthRefusal = Refusal | "full";

export interface NewTodo {
  readonly id: string;
  readonly owner: string;
  readonly scopes: readonly string[];
  readonly queue: string;
  readonly contextId: string;
  readonly title: string;
  readonly source: string;
  readonly kind: string;
  readonly assignee: string;
  readonly message: Message;
  readonly request: Uint8Array;
  readonly maxAttempts: number;
  /** Digest of the message id, unique in the owner. */
  readonly messageKey: string;
  /** Digest of the content, to tell a retry from a clash. */
  readonly bodyHash: string;
  /** Empty: none. */
  readonly idempotencyKey: string;
  readonly historyLength: number;
  /** Set: intake policy refuses the work, and this says why (SB-8). */
  readonly rejectWith: Message | undefined;
  readonly actor: string;
  /** What the work goes on from, in a trace. */
  readonly trace?: TraceContext | undefined;
  /** A push config to register before the first event (A2A-40). */
  readonly push?: PushRegistration | undefined;
}

export type CreateResult =
  | { readonly kind: "created" | "replayed"; readonly snapshot: TaskSnapshot }
  | { readonly kind: "mismatch" }
  | { readonly kind: "full" };

export type MessageResult =
  | { readonly kind: "accepted" | "replayed"; readonly snapshot: TaskSnapshot }
  | { readonly kind: "notfound" | "context" | "terminal" | "mismatch" | "full" | "pushlimit" };

export type CancelResult =
  | { readonly kind: "canceled" | "terminal"; readonly snapshot: TaskSnapshot }
  | { readonly kind: "notfound" };

export interface Claimed {
  readonly kind: "claimed";
  readonly todo: TodoRecord;
  readonly prior: readonly AttemptRecord[];
}

export type ClaimResult =
  | Claimed
  | { readonly kind: "empty"; readonly nextDueMs: number | undefined }
  | { readonly kind: Refusal };

export interface Finish {
  readonly verb: "complete" | "fail" | "release" | "reject";
  readonly message: Message | undefined;
  readonly artifacts: readonly Artifact[];
  readonly summary: string;
  readonly summaryTruncated: boolean;
  readonly artifact: string;
  readonly permanent: boolean;
  /** Delay of the n-th retry: base doubled n-1 times, at most cap; a share of it up to `jitter` is taken away. */
  readonly backoff: { readonly baseMs: number; readonly capMs: number; readonly jitter: number };
  /** For Task.metadata.baton.lastFailure. */
  readonly reason: string;
}

/** A todo that failed for good. `diedAt` in milliseconds since the epoch. */
export interface DeadTodo {
  readonly todo: TodoRecord;
  readonly diedAt: number;
  readonly reason: string;
}

/** A claim of whatever is next in a queue. `fence` as in {@link Holder}; `claimant`: the name that the worker gives itself. */
export interface NextClaim {
  readonly queue: string;
  readonly claimant: string;
  readonly fence: string;
  readonly ttlMs: number;
}

/** How an attempt ended, with the claim that followed it if one was asked for. */
export type FinishResult =
  | { readonly kind: "ok"; readonly todo: TodoRecord; readonly next: ClaimResult | undefined }
  | { readonly kind: GrowthRefusal };

export type GrowthResult = TodoResult | { readonly kind: "full" };

export type TodoResult = { readonly kind: "ok"; readonly todo: TodoRecord } | { readonly kind: Refusal };

/** Reads the fields with which a script answers a todo: {@link TODO_FIELDS} in their order, then the first message. */
export function todoOf(reply: Reply | undefined): TodoRecord {
  if (!Array.isArray(reply)) throw new Error("unexpected todo in the reply of a script");
  const fields = reply as readonly Buffer[];
  const bytes = (name: TodoField) => fields[PLACE[name]] ?? NO_BYTES;
  const text = (name: TodoField) => bytes(name).toString("utf8");
  const number = (name: TodoField) => Number(text(name));
  const time = (name: TodoField) => (bytes(name).length > 0 ? number(name) : undefined);
  return {
    id: text("id"),
    queue: text("queue"),
    state: text("state"),
    title: text("title"),
    contextId: text("ctx"),
    firstMessage: fields[TODO_FIELDS.length] ?? NO_BYTES,
    request: bytes("req"),
    claimant: text("claimant"),
    assignee: text("assignee"),
    attempt: number("attempt"),
    maxAttempts: number("max"),
    lease: time("lease"),
    notBefore: time("nb"),
    created: number("created"),
    updated: number("updated"),
    seq: number("seq"),
    source: text("source"),
    kind: text("kind"),
    messages: number("messages"),
    attemptSeq: number("aseq"),
    attemptsPruned: number("apruned"),
    trace: bytes("trace").length > 0 ? traceContextOf(text("trace"), text("tracestate")) : undefined,
  };
}

/** Reads attempts, which are stored as JSON. */
export function attemptsOf(reply: Reply | undefined): AttemptRecord[] {
  if (!Array.isArray(reply)) return [];
  return reply.map((text) => JSON.parse(String(text)) as AttemptRecord);
}

/** Reads what a claim answers. */
export function claimOf(reply: Reply): ClaimResult {
  const { verdict, rest } = verdictOf(reply);
  if (verdict === "ok") return { kind: "claimed", todo: todoOf(rest[0]), prior: attemptsOf(rest[1]) };
  if (verdict !== "empty") return { kind: verdict as Refusal };
  const due = String(rest[0]);
  return { kind: "empty", nextDueMs: due === "" ? undefined : Number(due) };
}
