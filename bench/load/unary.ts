/** The unary calls that are measured, each as bytes that are made once. */
import { randomBytes } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { GetTaskRequestSchema, ListTasksRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { grpcFrame, grpcHeaders } from "./grpc.ts";
import { RawHttp1 } from "./raw-http1.ts";
import { RawHttp2 } from "./raw-http2.ts";

export const UNARY = [
  "grpc GetTask",
  "grpc ListTasks",
  "jsonrpc GetTask",
  "jsonrpc SendMessage",
  "rest GetTask",
] as const;
export type Unary = (typeof UNARY)[number];

/** A server under load. */
export interface Subject {
  readonly port: number;
  readonly credential: string;
  readonly taskId: string;
  /** Path of the JSON-RPC interface. */
  readonly jsonrpcPath?: string;
  /** Path before `/tasks` of the HTTP+JSON interface. */
  readonly restPath?: string;
}

export interface Caller {
  /** One call after another, `width` at a time. Rejects what is no right answer. */
  readonly calls: readonly (() => Promise<void>)[];
  close(): void;
}

/** Message ids differ in these digits alone. */
const DIGITS = 12;

export async function openCaller(call: Unary, subject: Subject, width: number): Promise<Caller> {
  return call.startsWith("grpc") ? openGrpc(call, subject, width) : openHttp(call, subject, width);
}

async function openGrpc(call: Unary, subject: Subject, width: number): Promise<Caller> {
  const connection = await RawHttp2.connect(subject.port);
  const method = call.split(" ")[1] ?? "";
  const headers = grpcHeaders(`/lf.a2a.v1.A2AService/${method}`, subject.credential);
  const message =
    method === "GetTask"
      ? toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id: subject.taskId }))
      : toBinary(ListTasksRequestSchema, create(ListTasksRequestSchema));
  const body = grpcFrame(message);
  const once = async () => {
    const answer = await connection.call(headers, body);
    if (!answer.includes(subject.taskId)) throw new Error("an answer without the task");
  };
  return { calls: Array.from({ length: width }, () => once), close: () => connection.close() };
}

async function openHttp(call: Unary, subject: Subject, width: number): Promise<Caller> {
  const connections = await Promise.all(Array.from({ length: width }, () => RawHttp1.connect(subject.port)));
  const { request, proof, counterAt } = httpRequest(call, subject);
  let count = 0;
  const calls = connections.map((connection) => async () => {
    if (counterAt > 0) request.write(String(++count).padStart(DIGITS, "0"), counterAt, "latin1");
    const answer = await connection.call(request);
    if (answer.toString("latin1", 9, 12) !== "200" || !answer.includes(proof))
      throw new Error(answer.toString());
  });
  return {
    calls,
    close() {
      for (const connection of connections) connection.close();
    },
  };
}

function httpRequest(call: Unary, { credential, taskId, ...paths }: Subject) {
  const rpc = (method: string, params: object) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const run = randomBytes(8).toString("hex");
  const counter = "#".repeat(DIGITS);
  const message = { messageId: `${run}-${counter}`, role: "ROLE_USER", parts: [{ text: "measure me" }] };
  const isRest = call === "rest GetTask";
  const body = isRest
    ? ""
    : call === "jsonrpc GetTask"
      ? rpc("GetTask", { id: taskId })
      : rpc("SendMessage", { message, configuration: { returnImmediately: true } });
  const lines = [
    isRest
      ? `GET ${paths.restPath ?? ""}/tasks/${taskId} HTTP/1.1`
      : `POST ${paths.jsonrpcPath ?? "/"} HTTP/1.1`,
    "host: 127.0.0.1",
    "accept: application/json",
    "a2a-version: 1.0",
    `authorization: Bearer ${credential}`,
    ...(isRest ? [] : ["content-type: application/json", `content-length: ${Buffer.byteLength(body)}`]),
  ];
  const request = Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
  const proof = Buffer.from(call === "jsonrpc SendMessage" ? '"task"' : taskId);
  return { request, proof, counterAt: request.indexOf(counter) };
}
