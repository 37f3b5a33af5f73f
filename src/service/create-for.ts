import { randomUUID } from "node:crypto";
import { create, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Todo } from "../../gen/baton/worker/v1/worker_pb.js";
import {
  MessageSchema,
  PartSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { TodoBackend } from "../backends/todo/todo-backend.ts";
import { BatonError } from "../domain/errors.ts";
import type { TodoStore } from "../store/todos.ts";
import { checkSend } from "./a2a.ts";
import type { AgentDirectory } from "./agents.ts";
import type { Call } from "./call.ts";
import { todoView } from "./worker/views.ts";

/** Work for an agent's queue, as a tool names it. */
export interface CreateForInput {
  /** Absent: as SendMessage without `metadata.queue`. */
  readonly queue: string | undefined;
  readonly title: string;
  /** Absent: the title says it all. */
  readonly payload: JsonValue | undefined;
  readonly idempotencyKey: string | undefined;
}

export interface CreateForResult {
  readonly todo: Todo;
  /** False where the same key had made it before, and it is still live (SB-21). */
  readonly created: boolean;
}

export type CreateFor = (input: CreateForInput, call: Call) => Promise<CreateForResult>;

export interface CreateForOptions {
  readonly agents: AgentDirectory;
  readonly backend: TodoBackend;
  readonly todos: TodoStore;
}

/**
 * Hands work over by tool. It is the message that a peer would have sent, the title as text and the payload as data,
 * and takes the same way into the store (SB-5, SB-70).
 */
export function createCreateFor(options: CreateForOptions): CreateFor {
  const { agents, backend, todos } = options;
  return async (input, call) => {
    const agent = agents.get(call.agent);
    const request = asRequest(input);
    const message = checkSend(request, call, agent);
    if (agent.backend !== backend) {
      throw new BatonError("UnsupportedOperation", "the agent has no queues; send it a message instead");
    }
    const { created, snapshot } = await backend.create({
      agent,
      caller: call.caller,
      taskId: `td_${randomUUID()}`,
      contextId: randomUUID(),
      message,
      request,
      historyLength: 0,
      ...(call.trace === undefined ? {} : { trace: call.trace }),
    });
    const found = await todos.read(call.agent, snapshot.task.id, call.caller.queues, 0);
    if (found === undefined) throw new BatonError("NotFound", "todo not found");
    return { todo: todoView(call.agent, found.todo), created };
  };
}

function asRequest({ queue, title, payload, idempotencyKey }: CreateForInput): SendMessageRequest {
  const data =
    payload === undefined
      ? []
      : [create(PartSchema, { content: { case: "data", value: fromJson(ValueSchema, payload) } })];
  const metadata: JsonObject = {
    ...(queue === undefined ? {} : { queue }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
  return create(SendMessageRequestSchema, {
    message: create(MessageSchema, {
      messageId: randomUUID(),
      role: Role.USER,
      parts: [create(PartSchema, { content: { case: "text", value: title } }), ...data],
    }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  });
}
