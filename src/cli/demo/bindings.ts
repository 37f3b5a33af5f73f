/** One real client for each binding of A2A 1.0, all asking the same. */
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import {
  A2AService,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SendMessageResponse,
  SendMessageResponseSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "../client-options.ts";

export interface Binding {
  readonly name: string;
  send(request: SendMessageRequest): Promise<SendMessageResponse>;
}

export interface Bindings {
  readonly all: readonly Binding[];
  /** The gRPC client, for the rest of the demo. */
  readonly grpc: A2AClient;
  close(): void;
}

export function openBindings(url: string, credential: string): Bindings {
  const authorization = `Bearer ${credential}`;
  const authorize: Interceptor = (next) => (request) => {
    request.header.set("authorization", authorization);
    return next(request);
  };
  const sessionManager = new Http2SessionManager(url);
  const options = { baseUrl: url, interceptors: [authorize] };
  const grpc = createClient(A2AService, createGrpcTransport({ ...options, sessionManager }));
  const generated = (name: string, transport: Transport): Binding => {
    const client = createClient(A2AService, transport);
    return { name, send: (request) => client.sendMessage(request) };
  };

  const post = async (path: string, body: JsonValue): Promise<JsonValue> => {
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json", "a2a-version": "1.0" },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as JsonValue;
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  };

  return {
    grpc,
    all: [
      { name: "gRPC", send: (request) => grpc.sendMessage(request) },
      generated("gRPC-Web", createGrpcWebTransport({ ...options, httpVersion: "1.1" })),
      generated("Connect", createConnectTransport({ ...options, httpVersion: "1.1" })),
      {
        name: "JSON-RPC",
        async send(request) {
          const params = toJson(SendMessageRequestSchema, request);
          const answer = await post("/", { jsonrpc: "2.0", id: 1, method: "SendMessage", params });
          const result =
            typeof answer === "object" && answer !== null && "result" in answer ? answer.result : undefined;
          if (result === undefined) throw new Error(JSON.stringify(answer));
          return fromJson(SendMessageResponseSchema, result);
        },
      },
      {
        name: "HTTP+JSON",
        send: async (request) =>
          fromJson(
            SendMessageResponseSchema,
            await post("/message:send", toJson(SendMessageRequestSchema, request)),
          ),
      },
    ],
    close: () => sessionManager.abort(),
  };
}
