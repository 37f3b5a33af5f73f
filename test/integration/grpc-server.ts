import { create } from "@bufbuild/protobuf";
import { A2AService, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { taskNotFound } from "../../src/domain/errors.ts";
import { type Listener, type ListenerOptions, startListener } from "../../src/server/listener.ts";
import type { Call } from "../../src/service/call.ts";
import { Dispatcher } from "../../src/service/dispatcher.ts";
import { type ConnectHandlerOptions, createConnectHandler } from "../../src/transports/connect.ts";
import { a2aHandlers, DISPATCH, type Seen } from "../unit/transports/a2a-server.ts";

export interface GrpcServer {
  readonly listener: Listener;
  readonly dispatcher: Dispatcher;
  /** Requests that reached a handler. */
  readonly seen: Seen[];
  /** Calls of GetTask `slow`, waiting to be told to answer. */
  readonly slow: { readonly call: Call; answer(): void }[];
  /** What the handler of the transport logged. */
  readonly logged: object[];
}

const open: Listener[] = [];

/** The test handlers on the real listener, over gRPC, gRPC-Web and Connect. GetTask `slow` answers when told. */
export async function startGrpcServer(
  connect: Partial<ConnectHandlerOptions> = {},
  server: Partial<ListenerOptions> = {},
  prepare: (dispatcher: Dispatcher) => void = () => {},
): Promise<GrpcServer> {
  const seen: Seen[] = [];
  const slow: GrpcServer["slow"] = [];
  const logged: object[] = [];
  const dispatcher = new Dispatcher(DISPATCH);
  const handlers = a2aHandlers(seen);
  dispatcher.register(
    A2AService,
    {
      ...handlers,
      async getTask(request, call) {
        if (request.id === "nope") throw taskNotFound(request.id);
        if (request.id === "slow") {
          await new Promise<void>((resolve) => slow.push({ call, answer: resolve }));
        }
        if (request.id === "nan") return create(TaskSchema, { id: "nan", metadata: { secret: Number.NaN } });
        return create(TaskSchema, { id: request.id, contextId: "C1" });
      },
    },
    { a2a: true },
  );
  prepare(dispatcher);
  const log = { error: (fields: object) => void logged.push(fields) };
  const handler = createConnectHandler({ dispatcher, log, ...connect });
  const listener = await startListener({ host: "127.0.0.1", port: 0, handlers: [handler], ...server });
  open.push(listener);
  return { listener, dispatcher, seen, slow, logged };
}

export async function closeGrpcServers(): Promise<void> {
  for (const listener of open.splice(0)) await listener.close();
}
