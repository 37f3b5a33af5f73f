/** Puts together what operators see and do beside vending access: the admin services for tasks, queues, numbers, audit. */
import { AuditService } from "../../gen/baton/admin/v1/audit_pb.js";
import { PushService } from "../../gen/baton/admin/v1/push_pb.js";
import { QueueService } from "../../gen/baton/admin/v1/queue_pb.js";
import { StatsService } from "../../gen/baton/admin/v1/stats_pb.js";
import { TaskService } from "../../gen/baton/admin/v1/task_pb.js";
import { TodoService } from "../../gen/baton/admin/v1/todo_pb.js";
import type { Config } from "../config/schema.ts";
import type { Push } from "../push/push.ts";
import { createAuditService } from "../service/admin/audit-service.ts";
import { createPushService } from "../service/admin/push-service.ts";
import { createQueueService } from "../service/admin/queue-service.ts";
import { createStatsService } from "../service/admin/stats-service.ts";
import { createTaskService } from "../service/admin/task-service.ts";
import { createTodoService } from "../service/admin/todo-service.ts";
import type { AgentDirectory } from "../service/agents.ts";
import type { Dispatcher } from "../service/dispatcher.ts";
import type { AdminAuditStore } from "../store/admin-audit.ts";
import type { RedisConnection, RedisTarget } from "../store/connection.ts";
import type { EndpointStore } from "../store/endpoints.ts";
import { OperatorTaskStore } from "../store/operator-tasks.ts";
import type { Replicas } from "../store/replicas.ts";
import type { TodoStore } from "../store/todos.ts";
import { programVersion } from "./version.ts";

export interface OperationsOptions {
  readonly config: Config;
  readonly redis: RedisConnection;
  readonly redisKind: RedisTarget["kind"];
  readonly agents: AgentDirectory;
  readonly endpoints: EndpointStore;
  readonly todos: TodoStore;
  /** Absent: push is not offered. */
  readonly push: Push | undefined;
  readonly audit: AdminAuditStore;
  readonly replicas: Replicas;
  readonly pageTokenSecret: Buffer;
}

export function registerOperations(dispatcher: Dispatcher, options: OperationsOptions): void {
  const { config, redis, redisKind, agents, endpoints, todos, push, pageTokenSecret } = options;
  const tasks = new OperatorTaskStore(redis);
  const plain = { a2a: false, ownChecks: true };
  dispatcher.register(PushService, createPushService({ push, agents }), plain);
  dispatcher.register(TodoService, createTodoService({ todos, agents }), { a2a: false });
  dispatcher.register(
    TaskService,
    createTaskService({
      agents,
      tasks,
      todos,
      push,
      pageTokenSecret,
      interruptLimitMs: config.interrupts.limitSeconds * 1000,
      retentionMs: config.retention.terminalSeconds * 1000,
    }),
    plain,
  );
  dispatcher.register(
    QueueService,
    createQueueService({ redis, agents, endpoints, send: config.limits.send }),
    plain,
  );
  dispatcher.register(
    StatsService,
    createStatsService({
      redis,
      redisKind,
      agents,
      tasks,
      push,
      replicas: options.replicas,
      version: programVersion(),
    }),
    plain,
  );
  dispatcher.register(AuditService, createAuditService({ audit: options.audit, pageTokenSecret }), plain);
}
