import { toBinary } from "@bufbuild/protobuf";
import { type Artifact, ArtifactSchema, type Message, MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { fillableBytes, TASK_BYTES } from "../domain/task-size.ts";
import type { RedisConnection } from "./connection.ts";
import { agentPrefix } from "./keys.ts";
import type { PushRegistration } from "./push-configs.ts";
import { runScript, type ScriptArgs, type ScriptName } from "./script.ts";
import { snapshotOf, verdictOf } from "./tasks.ts";
import { TodoReads } from "./todo-reads.ts";
import {
  type CancelResult,
  type ClaimResult,
  type CreateResult,
  claimOf,
  type Finish,
  type FinishResult,
  type GrowthRefusal,
  type GrowthResult,
  type Holder,
  type MessageResult,
  type NewTodo,
  type NextClaim,
  type Refusal,
  type TodoResult,
  todoOf,
} from "./todo-records.ts";
import { type Viewer, viewerArgs } from "./viewer.ts";

function bytesOf(message: Message | undefined): Uint8Array | string {
  return message === undefined ? "" : toBinary(MessageSchema, message);
}

function pushArgs(push: PushRegistration | undefined) {
  if (push === undefined) return { push: "", pushid: "", pushref: "", pushsecret: "" };
  const { config, ref, sealed } = push;
  return { push: JSON.stringify(config), pushid: config.id, pushref: ref, pushsecret: sealed };
}

/** The transitions of todos, one script each; every one is atomic with its audit, events and indexes (SB-26). */
export class TodoStore extends TodoReads {
  readonly #redis: RedisConnection;
  readonly #keepAttempts: number;
  /** Bytes of the largest task. */
  readonly taskBytes: number;

  /**
   * `keepAttempts`: how many attempts a todo remembers, at least 5; older ones are only counted. Default 50.
   * `taskBytes`: default {@link TASK_BYTES}.
   */
  constructor(
    redis: RedisConnection,
    options: { readonly keepAttempts?: number; readonly taskBytes?: number } = {},
  ) {
    super(redis);
    this.#redis = redis;
    this.taskBytes = options.taskBytes ?? TASK_BYTES;
    this.#keepAttempts = options.keepAttempts ?? 50;
  }

  async create(agent: string, todo: NewTodo): Promise<CreateResult> {
    const prefix = agentPrefix(agent);
    const message = toBinary(MessageSchema, todo.message);
    if (message.length > fillableBytes(this.taskBytes)) return { kind: "full" };
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
      message,
      request: todo.request,
      max: todo.maxAttempts,
      msgkey: `${prefix}msg:${todo.owner}:${todo.messageKey}`,
      bodyhash: todo.bodyHash,
      idem: todo.idempotencyKey === "" ? "" : `${prefix}idem:${todo.owner}:${todo.idempotencyKey}`,
      history: todo.historyLength,
      reject: bytesOf(todo.rejectWith),
      actor: todo.actor,
      ...pushArgs(todo.push),
      trace: todo.trace?.traceparent ?? "",
      tracestate: todo.trace?.tracestate ?? "",
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
      cap: fillableBytes(this.taskBytes),
    });
    if (verdict === "ok") return { kind: "accepted", snapshot: snapshotOf(rest) };
    if (verdict === "replay") return { kind: "replayed", snapshot: snapshotOf(rest) };
    return { kind: verdict as "notfound" | "context" | "terminal" | "mismatch" | "full" | "pushlimit" };
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
    const reply = await runScript(this.#redis, "claim", agent, {
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
    return claimOf(reply);
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

  /** Ends an attempt; with `next`, the holder claims in the same unit. Whatever comes of that, what ended has ended. */
  async finish(
    agent: string,
    id: string,
    holder: Holder,
    finish: Finish,
    next?: NextClaim,
  ): Promise<FinishResult> {
    const { baseMs, capMs, jitter } = finish.backoff;
    const artifacts = finish.artifacts.flatMap((artifact) => [
      artifact.artifactId,
      Buffer.from(toBinary(ArtifactSchema, artifact)),
    ]);
    const reply = await runScript(
      this.#redis,
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
        // What ends an attempt without a result may use the reserve.
        cap: finish.verb === "complete" ? fillableBytes(this.taskBytes) : this.taskBytes,
        nextqueue: next?.queue ?? "",
        nextclaimant: next?.claimant ?? "",
        nextfence: next?.fence ?? "",
        nextttl: next?.ttlMs ?? 0,
        keep: this.#keepAttempts,
      },
      artifacts,
    );
    const { verdict, rest } = verdictOf(reply);
    if (verdict !== "ok") return { kind: verdict as GrowthRefusal };
    const [todo, claimed] = rest;
    return { kind: "ok", todo: todoOf(todo), next: claimed === undefined ? undefined : claimOf(claimed) };
  }

  async interrupt(
    agent: string,
    id: string,
    holder: Holder,
    event: "require_input" | "require_auth",
    message: Message,
  ): Promise<GrowthResult> {
    return this.#todo("interrupt", agent, {
      event,
      id,
      worker: holder.id,
      queues: JSON.stringify(holder.queues),
      fence: holder.fence,
      message: bytesOf(message),
      actor: holder.name,
      cap: fillableBytes(this.taskBytes),
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
  ): Promise<{ readonly kind: "ok"; readonly seq: number } | { readonly kind: GrowthRefusal }> {
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
      cap: fillableBytes(this.taskBytes),
    });
    if (verdict !== "ok") return { kind: verdict as GrowthRefusal };
    return { kind: "ok", seq: Number(rest[0]) };
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

  async #todo(name: ScriptName, agent: string, args: ScriptArgs): Promise<TodoResult> {
    const { verdict, rest } = await this.#run(name, agent, args);
    return verdict === "ok" ? { kind: "ok", todo: todoOf(rest[0]) } : { kind: verdict as Refusal };
  }

  async #run(name: ScriptName, agent: string, args: ScriptArgs) {
    return verdictOf(await runScript(this.#redis, name, agent, args));
  }
}
