import { A2AService as V03 } from "../../gen/a2a/v1/a2a_pb.js";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { RESERVED_AGENT_NAMES } from "../../src/config/schema.ts";
import { type Listener, startListener } from "../../src/server/listener.ts";
import { Dispatcher } from "../../src/service/dispatcher.ts";
import { RESUMABLE_STREAMS_URI } from "../../src/service/resumable-streams.ts";
import { createConnectHandler } from "../../src/transports/connect.ts";
import { createGrpcHandler } from "../../src/transports/grpc/handler.ts";
import type { HttpHandler } from "../../src/transports/http-handler.ts";
import { createJsonRpcHandler } from "../../src/transports/jsonrpc/handler.ts";
import { createRestHandler } from "../../src/transports/rest/handler.ts";
import { createV03Service } from "../../src/transports/v03/grpc/service.ts";
import { v03Bindings } from "../../src/transports/v03/jsonrpc/bindings.ts";
import { v03Routes } from "../../src/transports/v03/rest/routes.ts";
import { echoService } from "./echo-service.ts";

export const AGENT = "acme";

/** Every transport of callers, in the order of the gateway, over handlers that echo. */
export interface World {
  readonly handlers: readonly HttpHandler[];
  /** A listener with the gRPC path that takes HTTP/2 streams by itself. */
  readonly listener: Listener;
  /** One where connect-es serves gRPC as well. */
  readonly connectEs: Listener;
  close(): Promise<void>;
}

export async function createWorld(): Promise<World> {
  const dispatcher = new Dispatcher({
    authenticate: async () => ({
      id: "fuzz",
      name: "fuzz",
      agent: AGENT,
      queues: [],
      verbs: new Set(),
      capabilities: { streaming: true, push: true },
    }),
    hasAgent: (name) => name === AGENT,
    versions: ["1.0", "0.3"],
    strictVersions: false,
    extensions: () => [{ uri: RESUMABLE_STREAMS_URI, required: false }],
  });
  const echo = echoService();
  dispatcher.register(A2AService, echo, { a2a: true });
  dispatcher.register(V03, createV03Service(echo), { a2a: true, ownChecks: true });
  const reserved = new Set<string>(RESERVED_AGENT_NAMES);
  const handlers = [
    createConnectHandler({ dispatcher }),
    createRestHandler({ dispatcher, service: A2AService, moreRoutes: v03Routes() }),
    createJsonRpcHandler({ dispatcher, service: A2AService, moreBindings: v03Bindings(), reserved }),
  ];
  const grpc = createGrpcHandler({ dispatcher, readMaxBytes: 262_144, baseHeaders: {} });
  const listener = await startListener({ host: "127.0.0.1", port: 0, handlers, streamHandlers: [grpc] });
  const connectEs = await startListener({ host: "127.0.0.1", port: 0, handlers });
  const close = async () => {
    await Promise.all([listener.close(), connectEs.close()]);
  };
  return { handlers, listener, connectEs, close };
}
