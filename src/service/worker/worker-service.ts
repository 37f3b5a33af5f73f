import { create } from "@bufbuild/protobuf";
import {
  AddArtifactResponseSchema,
  CompleteResponseSchema,
  FailResponseSchema,
  GetMessagesResponseSchema,
  GetTodoResponseSchema,
  HeartbeatResponseSchema,
  ListTodosResponseSchema,
  RejectResponseSchema,
  ReleaseResponseSchema,
  RequireAuthResponseSchema,
  RequireInputResponseSchema,
  type Todo,
  TodoState,
  UpdateStatusResponseSchema,
  type WorkerService,
} from "../../../gen/baton/worker/v1/worker_pb.js";
import type { Artifact, Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type BatonError, invalidParams } from "../../domain/errors.ts";
import { taskTooLarge } from "../../domain/task-size.ts";
import type { QueueBells } from "../../store/queue-bell.ts";
import type { TaskFeed } from "../../store/task-feed.ts";
import type {
  ClaimResult,
  Finish,
  GrowthRefusal,
  GrowthResult,
  NextClaim,
  TodoResult,
} from "../../store/todo-records.ts";
import type { TodoStore } from "../../store/todos.ts";
import type { Call, Handlers } from "../call.ts";
import type { OpenStreams } from "../open-streams.ts";
import { createClaims, refused } from "./claims.ts";
import {
  agentMessage,
  artifactReference,
  checkedArtifact,
  cutSummary,
  firstText,
  holderOf,
  leaseMs,
  requireId,
  requireQueue,
  requireVerb,
} from "./inputs.ts";
import { attemptView, storedState, todoView } from "./views.ts";
import { watchQueue, watchTodo } from "./watches.ts";

export interface WorkerServiceOptions {
  readonly todos: TodoStore;
  readonly feed: TaskFeed;
  readonly bells: QueueBells;
  readonly streams: OpenStreams;
  readonly defaultLeaseMs: number;
  readonly retry: Finish["backoff"];
  readonly streamBuffer: number;
}

/** As {@link refused}; `field` is what would have made the task too large. */
function growthRefused(kind: GrowthRefusal, field: string, taskBytes: number): BatonError {
  return kind === "full" ? taskTooLarge(field, taskBytes) : refused(kind);
}

function todoOf(call: Call, result: TodoResult): Todo {
  if (result.kind !== "ok") throw refused(result.kind);
  return todoView(call.agent, result.todo);
}

/** The worker's side of the todo back end; see baton/worker/v1/worker.proto for each call. */
export function createWorkerService(options: WorkerServiceOptions): Handlers<typeof WorkerService> {
  const { todos } = options;

  function grownTodoOf(call: Call, result: GrowthResult, field: string): Todo {
    if (result.kind === "full") throw taskTooLarge(field, todos.taskBytes);
    return todoOf(call, result);
  }

  async function finish(
    call: Call,
    verb: Finish["verb"],
    request: {
      id: string;
      leaseToken: string;
      summary: string;
      message?: Message | undefined;
      artifact?: string;
    },
    extra: { artifacts?: readonly Artifact[]; permanent?: boolean; next?: NextClaim | undefined } = {},
  ): Promise<{ readonly todo: Todo; readonly next: ClaimResult | undefined }> {
    requireVerb(call.caller, verb);
    const id = requireId(request.id);
    const message = agentMessage(request.message, { id }, { required: false });
    const summary = cutSummary(request.summary);
    const holder = holderOf(call.caller, request.leaseToken);
    const ending: Finish = {
      verb,
      message,
      artifacts: extra.artifacts ?? [],
      summary: summary.text,
      summaryTruncated: summary.cut,
      artifact: artifactReference(request.artifact ?? ""),
      permanent: extra.permanent ?? false,
      backoff: options.retry,
      reason: firstText(message) || (verb === "fail" ? "the worker reported a failure" : ""),
    };
    const result = await todos.finish(call.agent, id, holder, ending, extra.next);
    const field = (extra.artifacts ?? []).length > 0 ? "artifacts" : "message";
    if (result.kind !== "ok") throw growthRefused(result.kind, field, todos.taskBytes);
    return { todo: todoView(call.agent, result.todo), next: result.next };
  }

  async function interrupt(
    call: Call,
    event: "require_input" | "require_auth",
    request: { id: string; leaseToken: string; message?: Message | undefined },
  ): Promise<Todo> {
    requireVerb(call.caller, event);
    const id = requireId(request.id);
    const message = agentMessage(request.message, { id }, { required: true });
    if (message === undefined) throw new Error("a required message is missing");
    const holder = holderOf(call.caller, request.leaseToken);
    return grownTodoOf(call, await todos.interrupt(call.agent, id, holder, event, message), "message");
  }

  const claims = createClaims(options);
  return {
    claim: claims.claim,
    claimById: claims.claimById,

    async heartbeat(request, call) {
      requireVerb(call.caller, "heartbeat");
      const ttlMs = leaseMs(request.leaseTtl, call.caller, options.defaultLeaseMs);
      const holder = holderOf(call.caller, request.leaseToken);
      const todo = todoOf(call, await todos.heartbeat(call.agent, requireId(request.id), holder, ttlMs));
      return create(HeartbeatResponseSchema, { todo });
    },

    async complete(request, call) {
      const { claimNext: wanted } = request;
      const following = wanted === undefined ? undefined : claims.following(wanted, call);
      const artifacts = request.artifacts.map((artifact, index) =>
        checkedArtifact(artifact, `artifacts[${index}]`),
      );
      const { todo, next } = await finish(call, "complete", request, { artifacts, next: following?.next });
      return create(CompleteResponseSchema, {
        todo,
        ...(following === undefined ? {} : { next: following.answer(next) }),
      });
    },

    async fail(request, call) {
      const { todo } = await finish(call, "fail", request, { permanent: request.permanent });
      return create(FailResponseSchema, { todo, deadLetter: todo.state === TodoState.FAILED });
    },

    async release(request, call) {
      const { todo } = await finish(call, "release", request);
      return create(ReleaseResponseSchema, { todo });
    },

    async reject(request, call) {
      const { todo } = await finish(call, "reject", request);
      return create(RejectResponseSchema, { todo });
    },

    async requireInput(request, call) {
      return create(RequireInputResponseSchema, { todo: await interrupt(call, "require_input", request) });
    },

    async requireAuth(request, call) {
      return create(RequireAuthResponseSchema, { todo: await interrupt(call, "require_auth", request) });
    },

    async addArtifact(request, call) {
      requireVerb(call.caller, "add_artifact");
      const artifact = checkedArtifact(request.artifact, "artifact");
      const holder = holderOf(call.caller, request.leaseToken);
      const { append, lastChunk } = request;
      const result = await todos.progress(call.agent, requireId(request.id), holder, {
        artifact,
        append,
        lastChunk,
      });
      if (result.kind !== "ok") throw growthRefused(result.kind, "artifact", todos.taskBytes);
      return create(AddArtifactResponseSchema, { artifactId: artifact.artifactId, seq: BigInt(result.seq) });
    },

    async updateStatus(request, call) {
      requireVerb(call.caller, "update_status");
      const id = requireId(request.id);
      const message = agentMessage(request.message, { id }, { required: true });
      if (message === undefined) throw new Error("a required message is missing");
      const result = await todos.progress(call.agent, id, holderOf(call.caller, request.leaseToken), {
        message,
      });
      if (result.kind !== "ok") throw growthRefused(result.kind, "message", todos.taskBytes);
      return create(UpdateStatusResponseSchema, { seq: BigInt(result.seq) });
    },

    async getMessages(request, call) {
      requireVerb(call.caller, "get_messages");
      const found = await todos.messages(
        call.agent,
        requireId(request.id),
        call.caller.queues,
        Number(request.after),
      );
      if (found === undefined) throw refused("notfound");
      return create(GetMessagesResponseSchema, {
        messages: found.messages,
        position: BigInt(found.position),
      });
    },

    async getTodo(request, call) {
      requireVerb(call.caller, "get_todo", "list_todos");
      const limit = request.attemptsLimit ?? 20;
      if (limit < 0 || limit > 50)
        throw invalidParams({ field: "attemptsLimit", description: "must be 0 to 50" });
      const found = await todos.read(call.agent, requireId(request.id), call.caller.queues, limit);
      if (found === undefined) throw refused("notfound");
      return create(GetTodoResponseSchema, {
        todo: todoView(call.agent, found.todo),
        attempts: found.attempts.map(attemptView),
        attemptsTotal: found.todo.attemptSeq,
        attemptsPruned: found.todo.attemptsPruned,
        deadLetter: found.todo.state === "failed",
      });
    },

    async listTodos(request, call) {
      requireVerb(call.caller, "list_todos");
      const queues = request.queue === "" ? call.caller.queues : [requireQueue(call.caller, request.queue)];
      const limit = request.limit >= 1 && request.limit <= 200 ? request.limit : 50;
      const state = storedState(request.state);
      if (state === undefined && request.state !== TodoState.UNSPECIFIED) {
        throw invalidParams({ field: "state", description: "must be one of the defined states" });
      }
      const records = await todos.list(call.agent, queues, state ?? "", limit);
      return create(ListTodosResponseSchema, {
        todos: records.map((record) => todoView(call.agent, record)),
      });
    },

    watchTodo: (request, call) =>
      watchTodo(options, requireId(request.id), Number(request.afterMessage), call),
    watchQueue: (request, call) => watchQueue(options, request.queue, call),
  };
}
