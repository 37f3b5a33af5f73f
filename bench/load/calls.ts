/** The calls that are measured, on each binding, the same for every server. */
import { randomUUID } from "node:crypto";
import { type ClientHttp2Session, connect } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Pool } from "undici";
import {
  GetTaskRequestSchema,
  SendMessageRequestSchema,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";

/** A server under load: where it is, who we are, and a task to read. */
export interface Subject {
  readonly url: string;
  readonly grpc: string;
  /** Path of the JSON-RPC interface. */
  readonly jsonrpcPath: string;
  /** Path before `/tasks` of the HTTP+JSON interface. */
  readonly restPath: string;
  readonly credential: string;
  readonly taskId: string;
}

export const ROWS = [
  "jsonrpc GetTask",
  "jsonrpc SendMessage returnImmediately",
  "jsonrpc SendStreamingMessage",
  "rest GetTask",
  "rest SendMessage returnImmediately",
  "grpc GetTask",
  "grpc SendMessage returnImmediately",
  "grpc SendStreamingMessage",
] as const;

export type Row = (typeof ROWS)[number];

export interface Calls {
  call(): Promise<void>;
  close(): Promise<void>;
}

function message() {
  return { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "measure me" }] };
}

export function callsOf(row: Row, subject: Subject, connections: number): Calls {
  const [binding, method] = row.split(" ");
  if (binding === "grpc") return grpcCalls(method ?? "", subject);
  const pool = new Pool(subject.url, { connections, pipelining: 1 });
  const headers = {
    "content-type": "application/json",
    accept: method === "SendStreamingMessage" ? "text/event-stream" : "application/json",
    "a2a-version": "1.0",
    authorization: `Bearer ${subject.credential}`,
  };
  const send = async (httpMethod: "GET" | "POST", path: string, body: string | null, proof: string) => {
    const response = await pool.request({ method: httpMethod, path, headers, body });
    const text = await response.body.text();
    if (response.statusCode >= 300 || !text.includes(proof))
      throw new Error(`${response.statusCode} ${text}`);
  };
  const rpc = (name: string, params: object) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: name, params });
  const immediate = () => ({ message: message(), configuration: { returnImmediately: true } });
  const { jsonrpcPath, restPath, taskId } = subject;
  const calls: Record<string, () => Promise<void>> = {
    "jsonrpc GetTask": () => send("POST", jsonrpcPath, rpc("GetTask", { id: taskId }), taskId),
    "jsonrpc SendMessage": () => send("POST", jsonrpcPath, rpc("SendMessage", immediate()), '"task"'),
    "jsonrpc SendStreamingMessage": () =>
      send("POST", jsonrpcPath, rpc("SendStreamingMessage", { message: message() }), "TASK_STATE_COMPLETED"),
    "rest GetTask": () => send("GET", `${restPath}/tasks/${taskId}`, null, taskId),
    "rest SendMessage": () => send("POST", `${restPath}/message:send`, JSON.stringify(immediate()), '"task"'),
  };
  const call = calls[`${binding} ${method}`];
  if (call === undefined) throw new Error(`no such row: ${row}`);
  return { call, close: () => pool.close() };
}

/** A gRPC client as thin as can be, so that the server is what is measured. */
function grpcCalls(method: string, subject: Subject): Calls {
  const session: ClientHttp2Session = connect(`http://${subject.grpc}`);
  const request = (): Uint8Array => {
    if (method === "GetTask") {
      return toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id: subject.taskId }));
    }
    const content = create(SendMessageRequestSchema, {
      message: {
        messageId: randomUUID(),
        role: 1,
        parts: [{ content: { case: "text", value: "measure me" } }],
      },
      configuration: { returnImmediately: true },
    });
    return toBinary(SendMessageRequestSchema, content);
  };
  const check = (messages: readonly Buffer[]): void => {
    const last = messages.at(-1);
    if (last === undefined) throw new Error("no message");
    if (method === "GetTask" && fromBinary(TaskSchema, last).id !== subject.taskId)
      throw new Error("another task");
    if (method === "SendStreamingMessage") {
      const { payload } = fromBinary(StreamResponseSchema, last);
      const state = payload.case === "statusUpdate" ? payload.value.status?.state : undefined;
      if (state !== TaskState.COMPLETED) throw new Error("the stream did not end with the task");
    }
  };
  return {
    call: () =>
      new Promise((resolve, reject) => {
        const stream = session.request({
          ":method": "POST",
          ":path": `/lf.a2a.v1.A2AService/${method}`,
          "content-type": "application/grpc",
          te: "trailers",
          "a2a-version": "1.0",
          authorization: `Bearer ${subject.credential}`,
        });
        const chunks: Buffer[] = [];
        let status: unknown;
        stream.on("response", (headers) => {
          status = headers["grpc-status"];
        });
        stream.on("trailers", (headers) => {
          status = headers["grpc-status"];
        });
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("error", reject);
        stream.on("close", () => {
          try {
            if (String(status) !== "0") throw new Error(`grpc-status ${String(status)}`);
            check(unframe(Buffer.concat(chunks)));
            resolve();
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
          }
        });
        const body = request();
        const prefix = Buffer.alloc(5);
        prefix.writeUInt32BE(body.length, 1);
        stream.end(Buffer.concat([prefix, body]));
      }),
    close: async () => session.destroy(),
  };
}

function unframe(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at + 1);
    messages.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return messages;
}
