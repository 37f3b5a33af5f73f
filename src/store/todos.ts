import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Artifact, ArtifactSchema, type Message, MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RedisConnection, Reply } from "./connection.ts";
import { agentPrefix } from "./keys.ts";
import type { PushRegistration } from "./push-configs.ts";
import { runScript, type ScriptArgs, type ScriptName } from "./script.ts";
import { snapshotOf, type TaskSnapshot, type Viewer, verdictOf, viewerArgs } from "./tasks.ts";

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
  /** A push config to register before the first event (A2A-40). */
  readonly push?: PushRegistration | undefined;
}

export type CreateResult =
  | { readonly kind: "created" | "replayed"; readonly snapshot: TaskSnapshot }
  | { readonly kind: "mismatch" };

export type MessageResult =
  | { readonly kind: "accepted" | "replayed"; readonly snapshot: TaskSnapshot }
  | { readonly kind: "notfound" | "context" | "terminal" | "mismatch" | "pushlimit" };

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

export type TodoResult = { readonly kind: "ok"; readonly todo: TodoRecord } | { readonly kind: Refusal };

function bytesOf(message: Message | undefined): Uint8Array | string {
  return message === undefined ? "" : toBinary(MessageSchema, message);
}

function pushArgs(push: PushRegistration | undefined) {
  if (push === undefined) return { push: "", pushid: "", pushref: "", pushsecret: "" };
  const { config, ref, sealed } = push;
  return { push: JSON.stringify(config), pushid: config.id, pushref: ref, pushsecret: sealed };
}

/** The transitions of todos, one script each; every one is atomic with its audit, events and indexes (SB-26). */
export class TodoStore {
  readonly #redis: RedisConnection;
  readonly #keepAttempts: number;

  /** `keepAttempts`: how many attempts a todo remembers, at least 5; older ones are only counted. Default 50. */
  constructor(redis: RedisConnection, options: { readonly keepAttempts?: number } = {}) {
    this.#redis = redis;
    this.#keepAttempts = options.keepAttempts ?? 50;
  }

  async create(agent: string, todo: NewTodo): Promise<CreateResult> {
    const prefix = agentPrefix(agent);
    const { verdict, rest } = await this.#run("create", agent, {
      id: todo.id,
      owner: todo.owner,
      scopes: JSON.stringify(todo.scopes),
      queue: todo.queue,
      context: todo.contextId,
      title: todo.title,
      source: todo.source,
      kind: todo.kind,
      assignee: todo.assignee,
      message: toBinary(MessageSchema, todo.message),
      request: todo.request,
      max: todo.maxAttempts,
      msgkey: `${prefix}msg:${todo.owner}:${todo.messageKey}`,
      bodyhash: todo.bodyHash,
      idem: todo.idempotencyKey === "" ? "" : `${prefix}idem:${todo.owner}:${todo.idempotencyKey}`,
      history: todo.historyLength,
      reject: bytesOf(todo.rejectWith),
      actor: todo.actor,
      ...pushArgs(todo.push),
    });
    if (verdict === "mismatch") return { kind: "mismatch" };
    return { kind: verdict === "ok" ? "created" : "replayed", snapshot: snapshotOf(rest) };
  }

  async addMessage(
    agent: string,
    id: string,
    viewer: Viewer,
    input: {
      readonly contextId: string;
      readonly message: Message;
      readonly messageKey: string;
      readonly bodyHash: string;
      readonly historyLength: number;
      readonly actor: string;
      readonly push?: PushRegistration | undefined;
    },
  ): Promise<MessageResult> {
    const { verdict, rest } = await this.#run("message", agent, {
      id,
      ...viewerArgs(viewer),
      context: input.contextId,
      message: toBinary(MessageSchema, input.message),
      msgkey: `${agentPrefix(agent)}msg:${viewer.id}:${input.messageKey}`,
      bodyhash: input.bodyHash,
      history: input.historyLength,
      actor: input.actor,
      ...pushArgs(input.push),
      pushlimit: input.push?.limit ?? 0,
    });
    if (verdict === "ok") return { kind: "accepted", snapshot: snapshotOf(rest) };
    if (verdict === "replay") return { kind: "replayed", snapshot: snapshotOf(rest) };
    return { kind: verdict as "notfound" | "context" | "terminal" | "mismatch" | "pushlimit" };
  }

  async cancel(
    agent: string,
    id: string,
    viewer: Viewer,
    message: Message | undefined,
    actor: string,
  ): Promise<CancelResult> {
    const { verdict, rest } = await this.#run("cancel", agent, {
      id,
      ...viewerArgs(viewer),
      message: bytesOf(message),
      actor,
      history: -1,
    });
    if (verdict === "notfound") return { kind: "notfound" };
    return { kind: verdict === "ok" ? "canceled" : "terminal", snapshot: snapshotOf(rest) };
  }

  /** Claims by queue (`id` empty) or by id. */
  async claim(
    agent: string,
    holder: Holder,
    input: { readonly queue: string; readonly id: string; readonly ttlMs: number; readonly claimant: string },
  ): Promise<ClaimResult> {
    const { verdict, rest } = await this.#run("claim", agent, {
      worker: holder.id,
      queues: JSON.stringify(holder.queues),
      queue: input.queue,
      id: input.id,
      ttl: input.ttlMs,
      claimant: input.claimant,
      fence: holder.fence,
      actor: holder.name,
      keep: this.#keepAttempts,
    });
    if (verdict === "ok") return { kind: "claimed", todo: todoOf(rest[0]), prior: attemptsOf(rest[1]) };
    if (verdict !== "empty") return { kind: verdict as Refusal };
    const due = String(rest[0]);
    return { kind: "empty", nextDueMs: due === "" ? undefined : Number(due) };
  }

  async heartbeat(agent: string, id: string, holder: Holder, ttlMs: number): Promise<TodoResult> {
    return this.#todo("heartbeat", agent, {
      id,
      worker: holder.id,
      queues: JSON.stringify(holder.queues),
      fence: holder.fence,
      ttl: ttlMs,
    });
  }

  async finish(agent: string, id: string, holder: Holder, finish: Finish): Promise<TodoResult> {
    const { baseMs, capMs, jitter } = finish.backoff;
    const artifacts = finish.artifacts.flatMap((artifact) => [
      artifact.artifactId,
      Buffer.from(toBinary(ArtifactSchema, artifact)),
    ]);
    return this.#todo(
      "finish",
      agent,
      {
        verb: finish.verb,
        id,
        worker: holder.id,
        queues: JSON.stringify(holder.queues),
        fence: holder.fence,
        message: bytesOf(finish.message),
        summary: finish.summary,
        truncated: finish.summaryTruncated,
        artifact: finish.artifact,
        actor: holder.name,
        permanent: finish.permanent,
        backoff: `${baseMs} ${capMs} ${(jitter * Math.random()).toFixed(6)}`,
        reason: finish.reason,
      },
      artifacts,
    );
  }

  async interrupt(
    agent: string,
    id: string,
    holder: Holder,
    event: "require_input" | "require_auth",
    message: Message,
  ): Promise<TodoResult> {
    return this.#todo("interrupt", agent, {
      event,
      id,
      worker: holder.id,
      queues: JSON.stringify(holder.queues),
      fence: holder.fence,
      message: bytesOf(message),
      actor: holder.name,
    });
  }

  /** Publishes a status message or stores an artifact chunk; answers the event's number. */
  async progress(
    agent: string,
    id: string,
    holder: Holder,
    input:
      | { readonly message: Message }
      | { readonly artifact: Artifact; readonly append: boolean; readonly lastChunk: boolean },
  ): Promise<{ readonly kind: "ok"; readonly seq: number } | { readonly kind: Refusal }> {
    const chunk = "artifact" in input ? input : undefined;
    const { verdict, rest } = await this.#run("progress", agent, {
      id,
      worker: holder.id,
      queues: JSON.stringify(holder.queues),
      fence: holder.fence,
      message: "message" in input ? bytesOf(input.message) : "",
      artifactid: chunk?.artifact.artifactId ?? "",
      artifact: chunk === undefined ? "" : toBinary(ArtifactSchema, chunk.artifact),
      append: chunk?.append ?? false,
      last: chunk?.lastChunk ?? false,
      actor: holder.name,
    });
    if (verdict !== "ok") return { kind: verdict as Refusal };
    return { kind: "ok", seq: Number(rest[0]) };
  }

  async read(
    agent: string,
    id: string,
    queues: readonly string[],
    attempts: number,
  ): Promise<{ readonly todo: TodoRecord; readonly attempts: readonly AttemptRecord[] } | undefined> {
    const { verdict, rest } = await this.#run("todo_read", agent, {
      id,
      queues: JSON.stringify(queues),
      attempts,
    });
    return verdict === "ok" ? { todo: todoOf(rest[0]), attempts: attemptsOf(rest[1]) } : undefined;
  }

  async list(agent: string, queues: readonly string[], state: string, limit: number): Promise<TodoRecord[]> {
    const reply = await runScript(this.#redis, "todo_list", agent, {
      queues: JSON.stringify(queues),
      state,
      limit,
    });
    if (!Array.isArray(reply)) throw new Error("unexpected reply of the todo_list script");
    return reply.map(todoOf);
  }

  /** Messages after a 1-based position, oldest first, and the position of the last. */
  async messages(
    agent: string,
    id: string,
    queues: readonly string[],
    after: number,
  ): Promise<{ readonly messages: Message[]; readonly position: number } | undefined> {
    const { verdict, rest } = await this.#run("messages", agent, {
      id,
      queues: JSON.stringify(queues),
      after,
    });
    if (verdict !== "ok") return undefined;
    const [position, ...messages] = rest;
    return {
      messages: messages.map((bytes) => fromBinary(MessageSchema, bytes as Buffer)),
      position: Number(position),
    };
  }

  /** Dead letters, the latest death first; `before` (exclusive, milliseconds) pages on. */
  async dead(
    agent: string,
    queues: readonly string[],
    query: { readonly before: number | undefined; readonly limit: number },
  ): Promise<DeadTodo[]> {
    const reply = await runScript(this.#redis, "todo_dead", agent, {
      queues: JSON.stringify(queues),
      before: query.before ?? "",
      limit: query.limit,
    });
    if (!Array.isArray(reply)) throw new Error("unexpected reply of the todo_dead script");
    const found: DeadTodo[] = [];
    for (let i = 0; i + 2 < reply.length; i += 3) {
      found.push({ diedAt: Number(reply[i]), todo: todoOf(reply[i + 1]), reason: String(reply[i + 2]) });
    }
    return found;
  }

  /** Revives a dead letter (T14). */
  async retry(agent: string, id: string, actor: string): Promise<TodoResult> {
    return this.#todo("todo_retry", agent, { id, actor });
  }

  /** Ends the open todos of an endpoint; answers how many there were (SB-27). */
  async revokeOwner(agent: string, owner: string, message: Message, actor: string): Promise<number> {
    let total = 0;
    for (;;) {
      const args = { owner, message: bytesOf(message), limit: 100, actor };
      const done = Number(await runScript(this.#redis, "revoke", agent, args));
      if (done === 0) return total;
      total += done;
    }
  }

  /** One bounded round of housekeeping; answers how many records it changed. */
  async sweep(
    agent: string,
    queues: readonly string[],
    input: {
      readonly interruptLimitMs: number;
      readonly timeoutMessage: Message;
      readonly retentionMs: number;
      /** Ended tasks of the agent that are kept at most, whatever their age. */
      readonly maxEnded: number;
    },
  ): Promise<number> {
    const reply = await runScript(this.#redis, "sweep", agent, {
      queues: JSON.stringify(queues),
      interruptlimit: input.interruptLimitMs,
      timeoutmessage: bytesOf(input.timeoutMessage),
      retention: input.retentionMs,
      maxrows: input.maxEnded,
      limit: 100,
    });
    return Number(reply);
  }

  async #todo(
    name: ScriptName,
    agent: string,
    args: ScriptArgs,
    rest: readonly (string | Buffer)[] = [],
  ): Promise<TodoResult> {
    const reply = verdictOf(await runScript(this.#redis, name, agent, args, rest));
    return reply.verdict === "ok"
      ? { kind: "ok", todo: todoOf(reply.rest[0]) }
      : { kind: reply.verdict as Refusal };
  }

  async #run(name: ScriptName, agent: string, args: ScriptArgs) {
    return verdictOf(await runScript(this.#redis, name, agent, args));
  }
}

function todoOf(reply: Reply | undefined): TodoRecord {
  if (!Array.isArray(reply)) throw new Error("unexpected todo in the reply of a script");
  const fields = new Map<string, Buffer>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), reply[i + 1] as Buffer);
  const text = (name: string) => fields.get(name)?.toString("utf8") ?? "";
  const number = (name: string) => Number(text(name) || 0);
  const time = (name: string) => (fields.has(name) ? number(name) : undefined);
  return {
    id: text("id"),
    queue: text("queue"),
    state: text("state"),
    title: text("title"),
    contextId: text("ctx"),
    firstMessage: fields.get("first") ?? Buffer.alloc(0),
    request: fields.get("req") ?? Buffer.alloc(0),
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
  };
}

function attemptsOf(reply: Reply | undefined): AttemptRecord[] {
  if (!Array.isArray(reply)) return [];
  return reply.map((text) => JSON.parse(String(text)) as AttemptRecord);
}
