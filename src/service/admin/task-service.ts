import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  CancelTaskResponseSchema,
  GetTaskResponseSchema,
  GetTaskTimelineResponseSchema,
  type ReplyToTaskRequest,
  ReplyToTaskResponseSchema,
  RetryTaskResponseSchema,
  type TaskService,
} from "../../../gen/baton/admin/v1/task_pb.js";
import {
  MessageSchema,
  PartSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Caller } from "../../domain/caller.ts";
import { BatonError, invalidParams, taskNotFound } from "../../domain/errors.ts";
import { checkClientMessage, checkMediaTypes } from "../../domain/message-rules.ts";
import { isTerminal } from "../../domain/todo.ts";
import type { Push } from "../../push/push.ts";
import type { OperatorTaskStore, TaskFacts } from "../../store/operator-tasks.ts";
import type { TodoStore } from "../../store/todos.ts";
import type { AgentDirectory, ServedAgent } from "../agents.ts";
import type { Handlers } from "../call.ts";
import { acceptedInputModes } from "../card.ts";
import { bounded } from "./bounded.ts";
import { namedAgent } from "./named-agent.ts";
import { retryTodo } from "./retry-todo.ts";
import { searchTasks } from "./task-search.ts";
import { timeline } from "./task-timeline.ts";
import { runView, summaryView, timeField, todoView } from "./task-views.ts";

export interface TaskServiceOptions {
  readonly agents: AgentDirectory;
  readonly tasks: OperatorTaskStore;
  readonly todos: TodoStore;
  /** Absent: push is not offered. */
  readonly push: Push | undefined;
  readonly pageTokenSecret: Buffer;
  /** How long a todo may wait for its client, in milliseconds; 0: for ever. */
  readonly interruptLimitMs: number;
  /** How long an ended todo is kept, in milliseconds. */
  readonly retentionMs: number;
}

const ENTRIES = { fallback: 500, max: 2000 } as const;
const MAX_REASON = 1000;
const MAX_DEAD = 1000;

/** What operators see and do about tasks; see baton/admin/v1/task.proto for each call. */
export function createTaskService(options: TaskServiceOptions): Handlers<typeof TaskService> {
  const { agents, tasks, todos, push } = options;

  /** A run is compared with its host before it is shown, as for its client (OW-12). */
  async function facts(agent: ServedAgent, caller: Caller, taskId: string, known = ""): Promise<TaskFacts> {
    await agent.backend.refresh?.({ agent, caller, taskId });
    const found = await tasks.facts(agent.name, taskId, known);
    if (found === undefined) throw taskNotFound(taskId);
    return found;
  }

  function work(found: TaskFacts) {
    if (found.fields.has("run")) return { case: "run", value: runView(found) } as const;
    return { case: "todo", value: todoView(found, options.interruptLimitMs) } as const;
  }

  return {
    searchTasks: (request) => searchTasks(options, request),

    async getTask(request, call) {
      const agent = namedAgent(agents, request.agent);
      requireId(request.id);
      const found = await facts(agent, call.caller, request.id, request.knownRevision);
      const { fields, task, revision } = found;
      const updated = fields.time("updated");
      const kept = isTerminal(fields.number("a2a")) && !fields.has("run") && updated !== undefined;
      return create(GetTaskResponseSchema, {
        summary: summaryView(agent.name, fields),
        ...(task === undefined ? {} : { task }),
        revision,
        work: work(found),
        sequence: BigInt(fields.number("seq")),
        version: BigInt(fields.number("v")),
        messages: fields.number("messages"),
        artifacts: fields.list("artifacts").length,
        pushConfigs: found.pushConfigs,
        idempotencyKey: fields.has("idem"),
        ...timeField("updatedAt", updated),
        ...timeField("removedAt", kept ? updated + options.retentionMs : undefined),
      });
    },

    async getTaskTimeline(request) {
      const agent = namedAgent(agents, request.agent).name;
      requireId(request.id);
      const limit = bounded("limit", request.limit, ENTRIES);
      const trail = await tasks.trail(agent, request.id, limit);
      if (trail === undefined) throw taskNotFound(request.id);
      const [attempts, dead] =
        push === undefined
          ? [[], []]
          : await Promise.all([
              push.deadLetters.attemptsFor(agent, request.id, trail.createdAt),
              push.deadLetters.list(agent, { taskId: request.id, limit: MAX_DEAD }),
            ]);
      const entries = timeline({ trail, attempts, dead });
      const first = trail.events[0]?.event.seq ?? trail.seq + 1;
      const truncated = entries.length > limit || trail.lines.length >= limit || first > 1;
      return create(GetTaskTimelineResponseSchema, { entries: entries.slice(-limit), truncated });
    },

    async cancelTask(request, call) {
      const agent = namedAgent(agents, request.agent);
      requireId(request.id);
      checkReason(request.reason);
      const { caller } = call;
      const { snapshot, changed } = await agent.backend.cancel({
        agent,
        caller,
        taskId: request.id,
        reason: request.reason,
      });
      return create(CancelTaskResponseSchema, { task: snapshot.task, changed });
    },

    async retryTask(request, call) {
      const agent = namedAgent(agents, request.agent);
      requireId(request.id);
      checkReason(request.reason);
      const found = await tasks.facts(agent.name, request.id);
      if (found === undefined) throw taskNotFound(request.id);
      if (found.fields.has("run")) {
        throw new BatonError("UnsupportedOperation", "the work is a run of a host: send it anew");
      }
      await retryTodo(todos, agent.name, request.id, call.caller.name);
      return create(RetryTaskResponseSchema, { task: (await facts(agent, call.caller, request.id)).task });
    },

    async replyToTask(request, call) {
      const agent = namedAgent(agents, request.agent);
      requireId(request.id);
      const sent = messageOf(request);
      const message = checkClientMessage(sent);
      if (agent.config.acceptInputModes === "card") {
        checkMediaTypes(message.parts, acceptedInputModes(agent.config));
      }
      const { task } = await agent.backend.reply({
        agent,
        caller: call.caller,
        taskId: request.id,
        message,
        request: sent,
        historyLength: -1,
      });
      return create(ReplyToTaskResponseSchema, { task });
    },
  };
}

function requireId(id: string): void {
  if (id.trim() === "") throw invalidParams({ field: "id", description: "is required" });
}

function checkReason(reason: string): void {
  if (reason.length > MAX_REASON) {
    throw invalidParams({ field: "reason", description: `must have at most ${MAX_REASON} characters` });
  }
}

/** The same message that a client would send. */
function messageOf({ id, text, parts, metadata, messageId }: ReplyToTaskRequest): SendMessageRequest {
  if (text === "" && parts.length === 0) {
    throw invalidParams({ field: "text", description: "give text or parts" });
  }
  const texts = text === "" ? [] : [create(PartSchema, { content: { case: "text", value: text } })];
  const message = create(MessageSchema, {
    messageId: messageId || randomUUID(),
    taskId: id,
    role: Role.USER,
    parts: [...texts, ...parts],
  });
  return create(SendMessageRequestSchema, { message, ...(metadata === undefined ? {} : { metadata }) });
}
