/** The peer: an `@a2a-js/sdk` server with its in-memory store. Prints its Subject as one line of JSON. */
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { type AgentCard, type Message, type Task, TaskState } from "@a2a-js/sdk";
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
import type { Subject } from "../load/calls.ts";

function status(state: TaskState) {
  return { state, message: undefined, timestamp: new Date().toISOString() };
}

/** Works, makes one artifact, completes: what the bench's worker does on Baton. */
const executor: AgentExecutor = {
  async execute(context: RequestContext, bus: ExecutionEventBus) {
    const { taskId, contextId, userMessage } = context;
    const task = {
      id: taskId,
      contextId,
      status: status(TaskState.TASK_STATE_SUBMITTED),
      history: [userMessage],
      artifacts: [],
      metadata: {},
    } satisfies Task;
    bus.publish({ kind: "task", data: task });
    bus.publish({
      kind: "statusUpdate",
      data: { taskId, contextId, status: status(TaskState.TASK_STATE_WORKING), metadata: {} },
    });
    bus.publish({
      kind: "artifactUpdate",
      data: {
        taskId,
        contextId,
        artifact: {
          artifactId: randomUUID(),
          name: "",
          description: "",
          parts: (userMessage as Message).parts,
          metadata: {},
          extensions: [],
        },
        append: false,
        lastChunk: true,
        metadata: {},
      },
    });
    bus.publish({
      kind: "statusUpdate",
      data: { taskId, contextId, status: status(TaskState.TASK_STATE_COMPLETED), metadata: {} },
    });
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
const grpc = new Server();
grpc.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }));
const grpcPort = await new Promise<number>((resolve, reject) => {
  grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
    error === null ? resolve(port) : reject(error),
  );
});
const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
const answer = await fetch(`${url}/rpc`, {
  method: "POST",
  headers: { "content-type": "application/json", "a2a-version": "1.0" },
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "SendMessage",
    params: { message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "measure me" }] } },
  }),
});
const { result } = (await answer.json()) as { result: { task: { id: string } } };
const subject: Subject = {
  url,
  grpc: `127.0.0.1:${grpcPort}`,
  jsonrpcPath: "/rpc",
  restPath: "/rest",
  credential: "none",
  taskId: result.task.id,
};
process.stdout.write(`${JSON.stringify(subject)}\n`);
