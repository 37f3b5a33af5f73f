/** `@a2a-js/sdk` on each of its bindings, with its in-memory store. */
import type { AddressInfo } from "node:net";
import { type AgentCard, TaskState } from "@a2a-js/sdk";
import {
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from "@a2a-js/sdk/server";
import { jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";
import { ready } from "../program.ts";

/** Takes the message as a task and does no work: on Baton too the work is somebody else's. */
const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }: RequestContext, bus: ExecutionEventBus) {
    const status = {
      state: TaskState.TASK_STATE_SUBMITTED,
      message: undefined,
      timestamp: new Date().toISOString(),
    };
    const task = { id: taskId, contextId, status, history: [userMessage], artifacts: [], metadata: {} };
    bus.publish({ kind: "task", data: task });
    bus.finished();
  },
  async cancelTask() {},
};

const card = {
  name: "peer",
  description: "the peer of the bench",
  version: "1.0.0",
  supportedInterfaces: ["JSONRPC", "HTTP+JSON", "GRPC"].map((protocolBinding) => ({
    url: "http://127.0.0.1",
    protocolBinding,
    protocolVersion: "1.0",
    tenant: "",
  })),
  provider: undefined,
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
  signatures: [],
} as AgentCard;

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
const app = express();
app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.use("/rest", restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
const http = app.listen(0, "127.0.0.1");
await new Promise((resolve) => http.once("listening", resolve));
const { port } = http.address() as AddressInfo;
const grpc = new Server();
grpc.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }));
const grpcPort = await new Promise<number>((resolve, reject) => {
  grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
    error === null ? resolve(bound) : reject(error),
  );
});
ready({ port, grpcPort });
