import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  ListDeadTodosResponseSchema,
  RetryTodoResponseSchema,
  type TodoService,
} from "../../../gen/baton/admin/v1/todo_pb.js";
import { BatonError, invalidParams } from "../../domain/errors.ts";
import type { TodoStore } from "../../store/todos.ts";
import type { AgentDirectory, ServedAgent } from "../agents.ts";
import type { Handlers } from "../call.ts";

export interface TodoServiceOptions {
  readonly todos: TodoStore;
  readonly agents: AgentDirectory;
}

const LIMIT = { fallback: 100, max: 500 } as const;

/** What operators do about todos that failed for good; see baton/admin/v1/todo.proto for each call. */
export function createTodoService(options: TodoServiceOptions): Handlers<typeof TodoService> {
  const { todos, agents } = options;

  function agentOf(name: string): ServedAgent {
    const agent = name || agents.defaultAgent;
    if (agents.has(agent)) return agents.get(agent);
    throw invalidParams({ field: "agent", description: "names no agent of this gateway" });
  }

  return {
    async listDeadTodos(request) {
      const agent = agentOf(request.agent);
      const { queue } = request;
      if (queue !== "" && !agent.config.queues.includes(queue)) {
        throw invalidParams({ field: "queue", description: "is not a queue of the agent" });
      }
      const limit = request.limit === 0 ? LIMIT.fallback : request.limit;
      if (limit < 1 || limit > LIMIT.max) {
        throw invalidParams({ field: "limit", description: `must be 1 to ${LIMIT.max}` });
      }
      const found = await todos.dead(agent.name, queue === "" ? agent.config.queues : [queue], {
        before: request.before === undefined ? undefined : timestampMs(request.before),
        limit,
      });
      return create(ListDeadTodosResponseSchema, {
        todos: found.map(({ todo, diedAt, reason }) => ({
          id: todo.id,
          agent: agent.name,
          queue: todo.queue,
          title: todo.title,
          kind: todo.kind,
          attempts: todo.attemptSeq,
          reason,
          createdAt: timestampFromMs(todo.created),
          diedAt: timestampFromMs(diedAt),
        })),
      });
    },

    async retryTodo(request, call) {
      const agent = agentOf(request.agent);
      if (request.id.trim() === "") throw invalidParams({ field: "id", description: "is required" });
      const result = await todos.retry(agent.name, request.id, call.caller.name);
      if (result.kind !== "ok") {
        throw result.kind === "notfound"
          ? new BatonError("NotFound", "todo not found")
          : new BatonError("Conflict", "only a todo that failed can be retried");
      }
      return create(RetryTodoResponseSchema, { id: result.todo.id, queue: result.todo.queue });
    },
  };
}
