/** The admin services, as the signed-in operator. */
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { AuditService } from "../../../gen/baton/admin/v1/audit_pb.js";
import { EndpointService } from "../../../gen/baton/admin/v1/endpoint_pb.js";
import { GrantService } from "../../../gen/baton/admin/v1/grant_pb.js";
import { PushService } from "../../../gen/baton/admin/v1/push_pb.js";
import { QueueService } from "../../../gen/baton/admin/v1/queue_pb.js";
import { StatsService } from "../../../gen/baton/admin/v1/stats_pb.js";
import { TaskService } from "../../../gen/baton/admin/v1/task_pb.js";
import { TodoService } from "../../../gen/baton/admin/v1/todo_pb.js";
import { currentSession, signOut } from "./session.ts";

/** A call without an answer after this long has failed, in milliseconds. */
const TIMEOUT_MS = 20_000;

const withToken =
  (token: () => string | undefined): Interceptor =>
  (next) =>
  (request) => {
    request.header.set("authorization", `Bearer ${token() ?? ""}`);
    return next(request);
  };

const endsSession: Interceptor = (next) => async (request) => {
  const { token } = currentSession();
  try {
    return await next(request);
  } catch (error) {
    const refused = ConnectError.from(error).code === Code.Unauthenticated;
    // A late refusal of an earlier token says nothing about the one of now.
    if (refused && token === currentSession().token) {
      signOut(
        "The gateway no longer accepts this credential: it was changed, or has expired. Sign in again.",
      );
    }
    throw error;
  }
};

const transportWith = (interceptors: Interceptor[]) =>
  createConnectTransport({
    baseUrl: location.origin,
    useBinaryFormat: true,
    defaultTimeoutMs: TIMEOUT_MS,
    interceptors,
  });

const transport = transportWith([endsSession, withToken(() => currentSession().token)]);

export const audit = createClient(AuditService, transport);
export const endpoints = createClient(EndpointService, transport);
export const grants = createClient(GrantService, transport);
export const pushes = createClient(PushService, transport);
export const queues = createClient(QueueService, transport);
export const stats = createClient(StatsService, transport);
export const tasks = createClient(TaskService, transport);
export const todos = createClient(TodoService, transport);

/** Rejects unless the gateway accepts the token. Asks for what every operator may see. */
export async function tryToken(token: string): Promise<void> {
  const client = createClient(GrantService, transportWith([withToken(() => token)]));
  await client.listGrants({});
}
