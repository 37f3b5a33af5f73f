/** The unary calls that are measured, each as bytes that are made once. */
import { randomBytes } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { GetTaskRequestSchema, ListTasksRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { GRPC_HEAD_BYTES, grpcFrame, grpcHeaders } from "./grpc.ts";
import { Proof } from "./proof.ts";
import { RawHttp1 } from "./raw-http1.ts";
import { RawHttp2, RequestFrames } from "./raw-http2.ts";
import type { Taker } from "./taker.ts";

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

/** Hears the end of a call; of one that brought no right answer, why. */
export type Done = (error?: Error) => void;

export interface Caller {
  /** Each starts a call; none is to be used again before its call is done. */
  readonly calls: readonly ((done: Done) => void)[];
  close(): void;
}

/** One call of a {@link Caller}. */
export function promiseOf(start: (done: Done) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error === undefined ? resolve() : reject(error)));
  });
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
  const request = new RequestFrames(headers, grpcFrame(message));
  const proof = new Proof([subject.taskId], readGrpc);
  const calls = Array.from({ length: width }, () => {
    const place = new Place(proof);
    return (done: Done) => connection.send(request, place.for(done));
  });
  return { calls, close: () => connection.close() };
}

async function openHttp(call: Unary, subject: Subject, width: number): Promise<Caller> {
  const connections = await Promise.all(Array.from({ length: width }, () => RawHttp1.connect(subject.port)));
  const { request, mark, counterAt } = httpRequest(call, subject);
  const proof = new Proof(["HTTP/1.1 200", mark], readHttp);
  let count = 0;
  const calls = connections.map((connection) => {
    const place = new Place(proof);
    return (done: Done) => {
      if (counterAt > 0) request.write(String(++count).padStart(DIGITS, "0"), counterAt, "latin1");
      connection.send(request, place.for(done));
    };
  });
  return {
    calls,
    close() {
      for (const connection of connections) connection.close();
    },
  };
}

/** Where one call after another is under way. */
class Place implements Taker {
  readonly #proof: Proof;
  #done: Done = () => {};

  constructor(proof: Proof) {
    this.#proof = proof;
  }

  for(done: Done): this {
    this.#done = done;
    return this;
  }

  answered(bytes: Buffer, from: number, to: number): void {
    this.#done(this.#proof.fault(bytes, from, to));
  }

  failed(error: Error): void {
    this.#done(error);
  }
}

/** Throws at what is not one message, whole and as it is. */
function readGrpc(answer: Buffer): void {
  if (answer[0] !== 0 || answer.readUInt32BE(1) !== answer.length - GRPC_HEAD_BYTES)
    throw new Error(`no gRPC message: ${answer.toString("hex")}`);
}

/** Throws at an answer that is an error, in its status or in its body. */
function readHttp(answer: Buffer): void {
  const body: unknown = JSON.parse(answer.toString("utf8", answer.indexOf("\r\n\r\n")));
  if (answer.toString("latin1", 9, 12) !== "200" || (body !== null && Object.hasOwn(Object(body), "error")))
    throw new Error(answer.toString());
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
  const mark = call === "jsonrpc SendMessage" ? '"task"' : taskId;
  return { request, mark, counterAt: request.indexOf(counter) };
}
