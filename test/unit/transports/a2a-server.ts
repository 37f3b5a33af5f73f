import { createServer, type Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, type Message } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type Message as A2AMessage,
  A2AService,
  AgentCardSchema,
  ListTasksResponseSchema,
  SendMessageResponseSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Caller } from "../../../src/domain/caller.ts";
import { BatonError, taskNotFound } from "../../../src/domain/errors.ts";
import type { Call, Handlers, RequestMeta, StreamItem } from "../../../src/service/call.ts";
import { Dispatcher, type DispatcherOptions } from "../../../src/service/dispatcher.ts";
import type { HttpHandler } from "../../../src/transports/http-handler.ts";
import { createJsonRpcHandler, type JsonRpcOptions } from "../../../src/transports/jsonrpc/handler.ts";
import { routesOf } from "../../../src/transports/rest/binding.ts";
import { createRestHandler, type RestOptions } from "../../../src/transports/rest/handler.ts";
import { fixedFirstSegments } from "../../../src/transports/rest/router.ts";

export const AUTH = { authorization: "Bearer acme" };
const AGENTS = new Set(["acme", "team/blue", "other"]);

/** Endpoint credentials of the tests are the names of their agents. */
export async function authenticate(meta: RequestMeta): Promise<Caller> {
  const header = meta.header("authorization");
  if (header === undefined) throw new BatonError("Unauthenticated", "no header");
  const agent = header.replace("Bearer ", "");
  if (!AGENTS.has(agent)) throw new BatonError("Unauthenticated", `no endpoint ${header}`);
  return {
    id: agent,
    name: agent,
    agent,
    queues: [],
    verbs: new Set(),
    capabilities: { streaming: true, push: true },
  };
}

export const DISPATCH: DispatcherOptions = {
  authenticate,
  hasAgent: (name) => AGENTS.has(name),
  versions: ["1.0"],
  strictVersions: false,
  extensions: () => ["urn:a", "urn:b", "urn:x"].map((uri) => ({ uri, required: false })),
};

export interface Seen {
  readonly method: string;
  readonly request: Message;
  readonly call: Call;
}

function task(id: string, extra: { history?: A2AMessage[] } = {}): Task {
  return create(TaskSchema, {
    id,
    contextId: "C1",
    status: {
      state: TaskState.WORKING,
      timestamp: timestampFromDate(new Date("2026-01-02T03:04:05Z")),
    },
    ...extra,
  });
}

function textOf(message: A2AMessage | undefined): string {
  const content = message?.parts[0]?.content;
  return content?.case === "text" ? content.value : "";
}

function event(payload: StreamResponse["payload"], id: string): StreamItem<StreamResponse> {
  return { message: create(StreamResponseSchema, { payload }), id };
}

/**
 * Handlers that do what the text of a message, or the id of a task, says; every request that reaches one is recorded.
 */
export function a2aHandlers(seen: Seen[]): Handlers<typeof A2AService> {
  const note = (method: string, request: Message, call: Call): void =>
    void seen.push({ method, request, call });
  const found = (id: string): Task => {
    if (id === "nope") throw taskNotFound(id);
    return task(id);
  };
  async function* stream(text: string, call: Call): AsyncGenerator<StreamItem<StreamResponse>> {
    call.responseHeaders.set("x-stream", "on");
    if (text === "early") throw new BatonError("UnsupportedOperation", "the task has ended");
    if (text === "nope") throw taskNotFound(text);
    yield event({ case: "task", value: task("T1") }, "1");
    if (text === "late") throw new BatonError("StreamInterrupted", "too slow");
    if (text === "crash") throw new Error("redis://secret:6379 is down");
    if (text === "wait") {
      await new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()));
      return;
    }
    const status = { state: TaskState.COMPLETED };
    const value = { $typeName: "lf.a2a.v1.TaskStatusUpdateEvent", taskId: "T1", contextId: "C1" } as const;
    const update = create(StreamResponseSchema, {
      payload: {
        case: "statusUpdate",
        value: { ...value, status: { $typeName: "lf.a2a.v1.TaskStatus", ...status } },
      },
    });
    yield { message: update, id: "2" };
  }
  return {
    async sendMessage(request, call) {
      note("SendMessage", request, call);
      const text = textOf(request.message);
      if (text === "boom") throw new Error("redis://secret:6379 is down");
      if (text === "limited") throw new BatonError("RateLimited", "slow down", { retryAfterMs: 1_500 });
      if (text === "busy") throw new BatonError("Unavailable", "try later", { retryAfterMs: 200 });
      const history = request.message === undefined ? [] : [request.message];
      return create(SendMessageResponseSchema, { payload: { case: "task", value: task("T1", { history }) } });
    },
    async *sendStreamingMessage(request, call) {
      note("SendStreamingMessage", request, call);
      yield* stream(textOf(request.message), call);
    },
    async getTask(request, call) {
      note("GetTask", request, call);
      return found(request.id);
    },
    async listTasks(request, call) {
      note("ListTasks", request, call);
      const tasks = request.contextId === "none" ? [] : [task("T1")];
      return create(ListTasksResponseSchema, {
        tasks,
        pageSize: request.pageSize ?? 50,
        totalSize: tasks.length,
      });
    },
    async cancelTask(request, call) {
      note("CancelTask", request, call);
      if (request.id === "done") throw new BatonError("TaskNotCancelable", "it has ended");
      return found(request.id);
    },
    async *subscribeToTask(request, call) {
      note("SubscribeToTask", request, call);
      yield* stream(request.id, call);
    },
    async createTaskPushNotificationConfig(request, call) {
      note("CreateTaskPushNotificationConfig", request, call);
      return request;
    },
    async getTaskPushNotificationConfig(request, call) {
      note("GetTaskPushNotificationConfig", request, call);
      return create(TaskPushNotificationConfigSchema, {
        taskId: request.taskId,
        id: request.id,
        url: "https://x",
      });
    },
    async listTaskPushNotificationConfigs(request, call) {
      note("ListTaskPushNotificationConfigs", request, call);
      return {
        $typeName: "lf.a2a.v1.ListTaskPushNotificationConfigsResponse",
        configs: [],
        nextPageToken: "",
      };
    },
    async getExtendedAgentCard(request, call) {
      note("GetExtendedAgentCard", request, call);
      return create(AgentCardSchema, { name: "Acme" });
    },
    async deleteTaskPushNotificationConfig(request, call) {
      note("DeleteTaskPushNotificationConfig", request, call);
      return { $typeName: "google.protobuf.Empty" };
    },
  };
}

export interface TestServer {
  readonly port1: number;
  readonly port2: number;
  readonly seen: Seen[];
  close(): Promise<void>;
}

export interface TestServerOptions {
  readonly jsonrpc?: Partial<JsonRpcOptions>;
  readonly rest?: Partial<RestOptions>;
  readonly dispatch?: Partial<DispatcherOptions>;
}

/** Both transports on one HTTP/1.1 and one HTTP/2 port. */
export async function startA2AServer(options: TestServerOptions = {}): Promise<TestServer> {
  const seen: Seen[] = [];
  const dispatcher = new Dispatcher({ ...DISPATCH, ...options.dispatch });
  dispatcher.register(A2AService, a2aHandlers(seen), { a2a: true });
  const service = A2AService;
  const reserved = fixedFirstSegments(routesOf(service).map(({ template }) => template));
  const rest = createRestHandler({ dispatcher, service, ...options.rest });
  const jsonrpc = createJsonRpcHandler({ dispatcher, service, reserved, ...options.jsonrpc });
  return { seen, ...(await listen([rest, jsonrpc])) };
}

/** Serves handlers on loopback; 404 without a body where none takes the request. */
export async function listen(handlers: readonly HttpHandler[]): Promise<Omit<TestServer, "seen">> {
  const serve: HttpHandler = async (request, response) => {
    for (const handler of handlers) if (await handler(request, response)) return true;
    response.statusCode = 404;
    response.end();
    return false;
  };
  const server1 = createServer((request, response) => void serve(request, response));
  const server2 = createHttp2Server((request, response) => void serve(request, response));
  const [port1, port2] = [await open(server1), await open(server2)];
  return {
    port1,
    port2,
    async close() {
      server1.closeAllConnections();
      await Promise.all([server1, server2].map((server) => new Promise((done) => server.close(done))));
    },
  };
}

async function open(server: Server | Http2Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  // A listening TCP server has an AddressInfo.
  return (server.address() as AddressInfo).port;
}
