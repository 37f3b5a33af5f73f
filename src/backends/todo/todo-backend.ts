import { randomUUID } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  PartSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { invalidParams, taskNotFound } from "../../domain/errors.ts";
import { contentHash, messageKey, titleOf } from "../../domain/message-rules.ts";
import { taskTooLarge } from "../../domain/task-size.ts";
import type { TaskSnapshot } from "../../store/tasks.ts";
import type { TodoStore } from "../../store/todos.ts";
import { inChildSpan } from "../../telemetry/tracing/active.ts";
import type { SpanOptions } from "../../telemetry/tracing/span.ts";
import type { Backend, CancelInput, ReplyInput, StartInput } from "../backend.ts";
import { messageIdReused, messageRefused } from "../message-refusal.ts";
import { scopesOf, viewerOf } from "../viewer.ts";
import { intakeRefusal, labelOf } from "./intake.ts";
import { chooseQueue } from "./queue-choice.ts";

/** Longest `metadata.idempotencyKey`, in characters. */
const MAX_KEY = 255;

/** The verb by which a friend hands work over, whatever the transport calls it (todo-delegation.md 2.8). */
const FRIEND_KIND = "create_for";

/** Work as todos: a message becomes a todo in one of the agent's queues, and a worker takes it from there. */
export class TodoBackend implements Backend {
  readonly #todos: TodoStore;
  readonly #maxAttempts: number;

  constructor(todos: TodoStore, options: { readonly maxAttempts: number }) {
    this.#todos = todos;
    this.#maxAttempts = options.maxAttempts;
  }

  async start(input: StartInput): Promise<TaskSnapshot> {
    return (await this.create(input)).snapshot;
  }

  /** The one way in which a todo comes to be (SB-5). `created` is false where the same request had made it before. */
  async create(input: StartInput): Promise<{ readonly created: boolean; readonly snapshot: TaskSnapshot }> {
    const { agent, caller, request } = input;
    const queue = chooseQueue(agent, caller, request.metadata);
    const bodyHash = contentHash(input.message, request.metadata);
    const kind = caller.friend === undefined ? labelOf(request.metadata, "kind") : FRIEND_KIND;
    const refusal = intakeRefusal(agent.config.intake, { message: input.message, kind });
    const message = { ...input.message, taskId: input.taskId, contextId: input.contextId };
    const todo = {
      id: input.taskId,
      owner: caller.id,
      scopes: scopesOf(agent, caller.id, queue),
      queue,
      contextId: input.contextId,
      title: titleOf(message),
      source: caller.friend?.persona ?? "",
      kind,
      assignee: labelOf(request.metadata, "assignee"),
      message,
      request: requestRecord(request),
      maxAttempts: this.#maxAttempts,
      messageKey: messageKey(message.messageId),
      bodyHash,
      idempotencyKey: idempotencyKey(request),
      historyLength: input.historyLength,
      rejectWith: refusal === undefined ? undefined : agentText(refusal),
      actor: caller.name,
      push: input.push,
    };
    const result = await inChildSpan(`send ${queue}`, sending(agent.name, queue, input.taskId), (span) =>
      this.#todos.create(agent.name, { ...todo, trace: span?.context ?? input.trace }),
    );
    if (result.kind === "mismatch") throw messageIdReused();
    if (result.kind === "full") throw taskTooLarge("message", this.#todos.taskBytes);
    return { created: result.kind === "created", snapshot: result.snapshot };
  }

  async reply(input: ReplyInput): Promise<TaskSnapshot> {
    const { agent, caller, taskId, request } = input;
    const result = await this.#todos.addMessage(agent.name, taskId, viewerOf(agent, caller), {
      contextId: input.message.contextId,
      message: input.message,
      messageKey: messageKey(input.message.messageId),
      bodyHash: contentHash(input.message, request.metadata),
      historyLength: input.historyLength,
      actor: caller.name,
      push: input.push,
    });
    switch (result.kind) {
      case "accepted":
      case "replayed":
        return result.snapshot;
      case "pushlimit":
        throw invalidParams({
          field: "configuration.taskPushNotificationConfig",
          description: "the task has as many push configs as it may",
        });
      default:
        throw messageRefused(result.kind, taskId, this.#todos.taskBytes);
    }
  }

  async cancel(input: CancelInput): Promise<{ snapshot: TaskSnapshot; changed: boolean }> {
    const { agent, caller, taskId, reason } = input;
    const message = reason === "" ? undefined : agentText(reason);
    const result = await this.#todos.cancel(
      agent.name,
      taskId,
      viewerOf(agent, caller),
      message,
      caller.name,
    );
    if (result.kind === "notfound") throw taskNotFound(taskId);
    return { snapshot: result.snapshot, changed: result.kind === "canceled" };
  }
}

function sending(agent: string, queue: string, id: string): SpanOptions {
  const attributes = {
    "messaging.system": "baton",
    "messaging.operation.name": "create",
    "messaging.operation.type": "send",
    "messaging.destination.name": queue,
    "messaging.message.id": id,
    "baton.agent": agent,
  };
  return { kind: "producer", attributes };
}

/** A message of the agent that holds one text. */
export function agentText(text: string): Message {
  return create(MessageSchema, {
    messageId: randomUUID(),
    role: Role.AGENT,
    parts: [create(PartSchema, { content: { case: "text", value: text } })],
  });
}

function idempotencyKey(request: SendMessageRequest): string {
  const key = request.metadata?.idempotencyKey;
  if (key === undefined) return "";
  if (typeof key !== "string" || key === "" || key.length > MAX_KEY) {
    throw invalidParams({
      field: "metadata.idempotencyKey",
      description: `must be a text of 1 to ${MAX_KEY} characters`,
    });
  }
  return key;
}

/** A message without any field. */
const NOTHING = new Uint8Array(0);

/** What the worker may know of the call. The message has its own place, and a push credential is none of its business. */
function requestRecord(request: SendMessageRequest): Uint8Array {
  const { configuration, metadata } = request;
  const acceptedOutputModes = configuration?.acceptedOutputModes ?? [];
  if (metadata === undefined && acceptedOutputModes.length === 0) return NOTHING;
  const record = create(SendMessageRequestSchema, {
    ...(metadata === undefined ? {} : { metadata }),
    ...(acceptedOutputModes.length === 0 ? {} : { configuration: { acceptedOutputModes } }),
  });
  return toBinary(SendMessageRequestSchema, record);
}
