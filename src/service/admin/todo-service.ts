import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  ListDeadTodosResponseSchema,
  RetryTodoResponseSchema,
  type TodoService,
} from "../../../gen/baton/admin/v1/todo_pb.js";
import { invalidParams } from "../../domain/errors.ts";
import type { TodoStore } from "../../store/todos.ts";
import type { AgentDirectory } from "../agents.ts";
import type { Handlers } from "../call.ts";
import { namedAgent } from "./named-agent.ts";
import { retryTodo } from "./retry-todo.ts";

export interface TodoServiceOptions {
  readonly todos: TodoStore;
  readonly agents: AgentDirectory;
}

const LIMIT = { fallback: 100, max: 500 } as const;

/** What operators do about todos that failed for good; see baton/admin/v1/todo.proto for each call. */
export function createTodoService(options: TodoServiceOptions): Handlers<typeof TodoService> {
  const { todos, agents } = options;

  return {
    async listDeadTodos(request) {
      const agent = namedAgent(agents, request.agent);
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
      const agent = namedAgent(agents, request.agent);
      if (request.id.trim() === "") throw invalidParams({ field: "id", description: "is required" });
      const todo = await retryTodo(todos, agent.name, request.id, call.caller.name);
      return create(RetryTodoResponseSchema, { id: todo.id, queue: todo.queue });
    },
  };
}
