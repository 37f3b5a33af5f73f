import type { TodoBackend } from "../backends/todo/todo-backend.ts";
import type { Config } from "../config/schema.ts";
import type { Admission } from "../service/admission.ts";
import type { AgentDirectory } from "../service/agents.ts";
import { createCreateFor } from "../service/create-for.ts";
import { createDefaultLeases } from "../service/default-lease.ts";
import type { Dispatcher } from "../service/dispatcher.ts";
import type { OpenStreams } from "../service/open-streams.ts";
import { Doorbell } from "../service/worker/doorbell.ts";
import { readTodoResult } from "../service/worker/todo-result.ts";
import type { RedisConnection } from "../store/connection.ts";
import type { EndpointStore } from "../store/endpoints.ts";
import type { QueueBells } from "../store/queue-bell.ts";
import { RingGate } from "../store/ring-gate.ts";
import type { TaskStore } from "../store/tasks.ts";
import type { TodoStore } from "../store/todos.ts";
import type { Tracer } from "../telemetry/tracing/span.ts";
import type { McpServices } from "../transports/mcp/services.ts";

/** Hands the MCP door what the other bindings stand on. */
export function createMcpServices(parts: {
  readonly config: Config;
  readonly redis: RedisConnection;
  readonly todos: TodoStore;
  readonly tasks: TaskStore;
  readonly endpoints: EndpointStore;
  readonly bells: QueueBells;
  readonly streams: OpenStreams;
  readonly agents: AgentDirectory;
  readonly backend: TodoBackend;
  readonly worker: McpServices["worker"];
  readonly admission: Admission;
  readonly dispatcher: Dispatcher;
  /** Told of an endpoint that changed. */
  onChanged(endpointId: string): void;
  onError(error: unknown): void;
  readonly tracer: Tracer | undefined;
}): McpServices {
  const { todos, tasks, agents } = parts;
  return {
    worker: parts.worker,
    tracer: parts.tracer,
    createFor: createCreateFor({ agents, backend: parts.backend, todos }),
    leases: createDefaultLeases({
      endpoints: parts.endpoints,
      serverSeconds: parts.config.leases.defaultSeconds,
      onChanged: parts.onChanged,
    }),
    readResult: (id, call) => readTodoResult(tasks, id, call),
    authenticate: (meta) => parts.dispatcher.authenticate(meta),
    admit: async (caller, sends) => parts.admission.endpoint(caller.id, sends),
    hasAgent: (name) => agents.has(name),
    streams: parts.streams,
    doorbell: new Doorbell({
      bells: parts.bells,
      gate: new RingGate(parts.redis),
      todos,
      onError: parts.onError,
    }),
  };
}
