/** Two gateways on one Redis, and clients of their admin services as a browser or a script would make them. */
import type { DescService } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { AuditService } from "../../gen/baton/admin/v1/audit_pb.js";
import { EndpointService } from "../../gen/baton/admin/v1/endpoint_pb.js";
import { QueueService } from "../../gen/baton/admin/v1/queue_pb.js";
import { StatsService } from "../../gen/baton/admin/v1/stats_pb.js";
import { TaskService } from "../../gen/baton/admin/v1/task_pb.js";
import { TodoService } from "../../gen/baton/admin/v1/todo_pb.js";
import type { RedisConnection } from "../../src/store/connection.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";

/** The admin services of one gateway, over Connect. */
export interface Admin {
  readonly tasks: Client<typeof TaskService>;
  readonly queues: Client<typeof QueueService>;
  readonly stats: Client<typeof StatsService>;
  readonly audit: Client<typeof AuditService>;
  readonly endpoints: Client<typeof EndpointService>;
  readonly todos: Client<typeof TodoService>;
}

export function adminOf(
  { adminUrl, adminToken }: Pick<TestGateway, "adminUrl" | "adminToken">,
  options: { readonly token?: string; readonly binary?: boolean } = {},
): Admin {
  const transport = createConnectTransport({
    baseUrl: adminUrl,
    httpVersion: "1.1",
    useBinaryFormat: options.binary ?? false,
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${options.token ?? adminToken}`);
        return next(request);
      },
    ],
  });
  const client = <S extends DescService>(service: S): Client<S> => createClient(service, transport);
  return {
    tasks: client(TaskService),
    queues: client(QueueService),
    stats: client(StatsService),
    audit: client(AuditService),
    endpoints: client(EndpointService),
    todos: client(TodoService),
  };
}

export interface Two {
  readonly gateway: TestGateway;
  readonly other: TestGateway;
  readonly admin: Admin;
  /** Of the other gateway, in the binary form. */
  readonly otherAdmin: Admin;
  readonly redis: RedisConnection;
  readonly redisUrl: string;
  /** Id of the endpoint of that name. */
  endpointId(name: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startTwo(document: Record<string, unknown> = {}): Promise<Two> {
  const server: TestRedis = await startTestRedis();
  const shared = { redis: { url: server.server.url }, ...document };
  const gateway = await startTestGateway(shared);
  const other = await startTestGateway({ ...shared, admin: { port: 0, token: gateway.adminToken } });
  const admin = adminOf(gateway);
  return {
    gateway,
    other,
    admin,
    otherAdmin: adminOf(other, { binary: true }),
    redis: await server.connect(),
    redisUrl: server.server.url,
    async endpointId(name) {
      const { endpoints } = await admin.endpoints.listEndpoints({});
      return endpoints.find((endpoint) => endpoint.name === name)?.id ?? "";
    },
    async stop() {
      await Promise.all([gateway.stop(), other.stop()]);
      await server.stop();
    },
  };
}

/** Name of the Connect code that a call is refused with, or `ok`. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "ok";
  } catch (error) {
    return Code[ConnectError.from(error).code] ?? "?";
  }
}
