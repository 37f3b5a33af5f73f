import { request as httpRequest } from "node:http";
import { connect as h2connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { type CallOptions, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import { A2AService, Role, SendMessageRequestSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { SECURITY_HEADERS } from "../../src/server/security-headers.ts";
import type { Handlers } from "../../src/service/call.ts";
import {
  FixtureService,
  type PauseTaskRequest,
  SampleSchema,
} from "../proto-fixture/gen/fixture/v1/fixture_pb.js";
import { AUTH } from "../unit/transports/a2a-server.ts";
import { closeGrpcServers, type GrpcServer, startGrpcServer } from "./grpc-server.ts";

afterEach(closeGrpcServers);

const TRANSPORTS: Record<string, (baseUrl: string) => Transport> = {
  "gRPC, h2c": (baseUrl) => createGrpcTransport({ baseUrl }),
  "gRPC-Web, h1": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  "gRPC-Web, h2c": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
  "Connect, h1, binary": (baseUrl) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true }),
  "Connect, h2c, JSON": (baseUrl) =>
    createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: false }),
};

function message(text: string) {
  const part = { content: { case: "text", value: text } } as const;
  return { message: { messageId: "m1", role: Role.USER, parts: [part] } };
}

const withAuth: CallOptions = { headers: AUTH };

async function rejected(promise: Promise<unknown>): Promise<ConnectError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ConnectError);
  return error as ConnectError;
}

async function collect<T>(items: AsyncIterable<T>, into: T[] = []): Promise<T[]> {
  for await (const item of items) into.push(item);
  return into;
}

function reasonOf(error: ConnectError): string | undefined {
  return error.findDetails(ErrorInfoSchema)[0]?.reason;
}

describe.each(Object.entries(TRANSPORTS))("%s", (name, transportTo) => {
  const start = async () => {
    const server = await startGrpcServer({ bodyTimeoutMs: 2_000 });
    return { server, client: createClient(A2AService, transportTo(server.listener.url)) };
  };

  it("serves a unary call, with the headers of the result", async () => {
    const { server, client } = await start();
    let header = new Headers();
    const answer = await client.sendMessage(message("hi"), {
      headers: { ...AUTH, "a2a-extensions": "urn:a, urn:b" },
      onHeader: (received) => {
        header = received;
      },
    });
    expect(answer.payload.case).toBe("task");
    expect(header.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    const call = server.seen[0]?.call;
    expect(call?.transport).toBe(name.split(",", 1)[0]?.toLowerCase());
    expect(call?.extensions).toEqual(["urn:a", "urn:b"]);
    expect(call?.deadlineAt).toBeUndefined();
  });

  it("serves a stream, ends it with OK and tells the last event id in a trailer", async () => {
    const { client } = await start();
    let trailer = new Headers();
    const items = client.subscribeToTask(
      { id: "T1" },
      {
        ...withAuth,
        onTrailer: (received) => {
          trailer = received;
        },
      },
    );
    const payloads = (await collect(items)).map(({ payload }) => payload);
    expect(payloads.map((payload) => payload.case)).toEqual(["task", "statusUpdate"]);
    expect(payloads[1]?.value).toMatchObject({ status: { state: TaskState.COMPLETED } });
    expect(trailer.get("a2a-last-event-id")).toBe("2");
  });

  it("A2A-83 ends a stream that was cut with an error, after what was sent", async () => {
    const { client } = await start();
    const items: unknown[] = [];
    const error = await rejected(collect(client.subscribeToTask({ id: "late" }, withAuth), items));
    expect(items).toHaveLength(1);
    expect([error.code, reasonOf(error)]).toEqual([Code.Unavailable, "STREAM_INTERRUPTED"]);
    expect(error.metadata.get("a2a-last-event-id")).toBe("1");
  });

  it("A2A-80 fails a stream before its first message like a call", async () => {
    const { client } = await start();
    const error = await rejected(collect(client.subscribeToTask({ id: "nope" }, withAuth)));
    expect([error.code, reasonOf(error)]).toEqual([Code.NotFound, "TASK_NOT_FOUND"]);
  });

  it("A2A-148 carries ErrorInfo, BadRequest and RetryInfo", async () => {
    const { client } = await start();
    const missing = await rejected(client.getTask({ id: "nope" }, withAuth));
    expect(missing.rawMessage).toBe("task not found");
    expect(missing.findDetails(ErrorInfoSchema)[0]).toMatchObject({
      reason: "TASK_NOT_FOUND",
      domain: "a2a-protocol.org",
      metadata: { taskId: "nope" },
    });
    const invalid = await rejected(client.sendMessage({}, withAuth));
    expect(invalid.code).toBe(Code.InvalidArgument);
    expect(invalid.findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field).toBe("message");
    const limited = await rejected(client.sendMessage(message("limited"), withAuth));
    expect(limited.code).toBe(Code.ResourceExhausted);
    expect(limited.findDetails(RetryInfoSchema)[0]?.retryDelay).toMatchObject({
      seconds: 1n,
      nanos: 500_000_000,
    });
    expect(limited.metadata.get("retry-after")).toBe("2");
  });

  it("A2A-160 hides what broke, and logs it", async () => {
    const { server, client } = await start();
    const unary = await rejected(client.sendMessage(message("boom"), withAuth));
    const stream = await rejected(collect(client.subscribeToTask({ id: "crash" }, withAuth)));
    for (const error of [unary, stream]) {
      expect([error.code, error.rawMessage]).toEqual([Code.Internal, "internal error"]);
    }
    expect(server.logged).toHaveLength(2);
    expect(server.logged[0]).toMatchObject({ method: "SendMessage", err: { message: /secret/ } });
  });

  it("SB-1 refuses without a credential, one answer for all", async () => {
    const { server, client } = await start();
    const none = await rejected(client.getTask({ id: "T1" }));
    expect([none.code, reasonOf(none)]).toEqual([Code.Unauthenticated, "UNAUTHENTICATED"]);
    expect(none.metadata.get("www-authenticate")).toBe("Bearer");
    expect(server.seen).toEqual([]);
  });

  it("A2A-147 checks the version here too", async () => {
    const { client } = await start();
    const headers = { ...AUTH, "a2a-version": "9.9" };
    const error = await rejected(client.getTask({ id: "T1" }, { headers }));
    expect([error.code, reasonOf(error)]).toEqual([Code.FailedPrecondition, "VERSION_NOT_SUPPORTED"]);
    await client.getTask({ id: "T1" }, { headers: { ...AUTH, "a2a-version": "1.0.1" } });
  });

  it("passes the deadline on, and ends the call when it passes", async () => {
    const { server, client } = await start();
    const before = Date.now();
    const error = await rejected(client.getTask({ id: "slow" }, { ...withAuth, timeoutMs: 300 }));
    expect(error.code).toBe(Code.DeadlineExceeded);
    const call = server.slow[0]?.call;
    expect(call?.deadlineAt).toBeGreaterThan(before + 50);
    expect(call?.deadlineAt).toBeLessThan(before + 1_000);
    await expect.poll(() => call?.signal.aborted).toBe(true);
    await expect.poll(() => server.listener.inFlight).toBe(0);
  });

  it("aborts the handler when the client goes away", async () => {
    const { server, client } = await start();
    const abort = new AbortController();
    const items: unknown[] = [];
    const done = rejected(
      collect(client.subscribeToTask({ id: "wait" }, { ...withAuth, signal: abort.signal }), items),
    );
    await expect.poll(() => items.length).toBe(1);
    abort.abort();
    await done;
    await expect.poll(() => server.seen[0]?.call.signal.aborted).toBe(true);
    await expect.poll(() => server.listener.inFlight).toBe(0);
  });

  it("SB-53 takes a message of the limit and refuses one byte more", async () => {
    const { server, client } = await start();
    const sized = (bytes: number) => {
      const overhead =
        toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, message("x".repeat(200_000))))
          .length - 200_000;
      return message("x".repeat(bytes - overhead));
    };
    if (name.includes("JSON")) {
      // The frame of the JSON is larger than that of the binary form; only the refusal is exact here.
      await client.sendMessage(message("x".repeat(262_000)), withAuth);
    } else {
      await client.sendMessage(sized(262_144), withAuth);
    }
    const error = await rejected(client.sendMessage(sized(262_145), withAuth));
    expect([error.code, reasonOf(error)]).toEqual([Code.ResourceExhausted, "PAYLOAD_TOO_LARGE"]);
    expect(server.seen).toHaveLength(1);
  });

  it("answers UNIMPLEMENTED to an unknown method of a known service", async () => {
    const { server } = await start();
    const renamed = { ...A2AService.method.getTask, name: "NoSuchMethod" };
    const transport = transportTo(server.listener.url);
    const error = await rejected(
      transport.unary(renamed, undefined, undefined, AUTH, { id: "x" }).then(() => undefined),
    );
    expect([error.code, reasonOf(error)]).toEqual([Code.Unimplemented, "METHOD_NOT_FOUND"]);
  });
});

describe("any service", () => {
  it("serves an rpc that only the proto knows", async () => {
    const server = await startGrpcServer({}, {}, (dispatcher) => {
      const pauseTask = async (request: PauseTaskRequest) => create(SampleSchema, { name: request.id });
      // Only the one method is called.
      dispatcher.register(FixtureService, { pauseTask } as unknown as Handlers<typeof FixtureService>, {
        a2a: false,
      });
    });
    const client = createClient(FixtureService, createGrpcTransport({ baseUrl: server.listener.url }));
    expect((await client.pauseTask({ id: "T9" }, withAuth)).name).toBe("T9");
  });
});

/** One request without a client library, so that it can be as wrong as it likes. */
async function post(
  server: GrpcServer,
  path: string,
  headers: Record<string, string>,
  body: Uint8Array = Buffer.alloc(0),
  method = "POST",
): Promise<{
  status: number;
  headers: Record<string, string>;
  trailers: Record<string, string>;
  body: Buffer;
}> {
  const session = h2connect(server.listener.url);
  try {
    return await new Promise((resolve, reject) => {
      const stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: false });
      let status = 0;
      let received: Record<string, string> = {};
      let trailers: Record<string, string> = {};
      const chunks: Buffer[] = [];
      stream.on("response", ({ ":status": code, ...rest }) => {
        status = code ?? 0;
        received = rest as Record<string, string>;
      });
      stream.on("trailers", (rest) => {
        trailers = rest as Record<string, string>;
      });
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => resolve({ status, headers: received, trailers, body: Buffer.concat(chunks) }));
      stream.on("error", reject);
      stream.end(body);
    });
  } finally {
    session.close();
  }
}

function envelope(data: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

const SEND = "/lf.a2a.v1.A2AService/SendMessage";
const GRPC = { ...AUTH, "content-type": "application/grpc", te: "trailers" };
const JSON_ = { ...AUTH, "content-type": "application/json" };

/** grpc-status, message and ErrorInfo, wherever gRPC put them. */
function grpcError({ headers, trailers }: Awaited<ReturnType<typeof post>>) {
  const all = { ...headers, ...trailers };
  const status = fromBinary(StatusSchema, Buffer.from(all["grpc-status-details-bin"] ?? "", "base64"));
  const info = status.details
    .map((any) => anyUnpack(any, ErrorInfoSchema))
    .find((detail) => detail !== undefined);
  return {
    code: Number(all["grpc-status"]),
    inner: status.code,
    reason: info?.reason,
    message: all["grpc-message"],
  };
}

describe("malformed requests", () => {
  const bytes = (init = message("hi")) =>
    toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, init));

  it.each([
    ["bad protobuf", envelope(Buffer.from([0xff, 0xff, 0xff])), 3, "PARSE_ERROR"],
    ["no message", Buffer.alloc(0), 12, "INVALID_REQUEST"],
    ["a head cut short", Buffer.from([0, 0]), 3, "INVALID_REQUEST"],
    ["a message cut short", envelope(bytes()).subarray(0, 9), 3, "INVALID_REQUEST"],
    ["two messages", Buffer.concat([envelope(bytes()), envelope(bytes())]), 12, "INVALID_REQUEST"],
    ["unknown flags", envelope(bytes(), 0x40), 3, "INVALID_REQUEST"],
    ["compressed under no name", envelope(gzipSync(bytes()), 1), 13, "INVALID_REQUEST"],
  ])("gRPC: %s is refused with the status that the protocol says", async (_name, body, code, reason) => {
    const server = await startGrpcServer();
    const answer = await post(server, SEND, GRPC, body);
    expect(answer.status).toBe(200);
    expect(grpcError(answer)).toMatchObject({ code, inner: code, reason });
    expect(server.seen).toEqual([]);
    expect(server.logged).toEqual([]);
  });

  it("gRPC: a declared length over the limit is refused, whether it is there or not", async () => {
    const server = await startGrpcServer();
    const head = Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]);
    const huge = Buffer.concat([head, Buffer.alloc(300_000)]);
    expect(grpcError(await post(server, SEND, GRPC, head))).toMatchObject({ code: 8 });
    expect(grpcError(await post(server, SEND, GRPC, huge))).toMatchObject({
      code: 8,
      reason: "PAYLOAD_TOO_LARGE",
    });
  });

  it("gRPC: gzip is read, a bomb is refused, an unknown encoding is UNIMPLEMENTED", async () => {
    const server = await startGrpcServer();
    const gzip = { ...GRPC, "grpc-encoding": "gzip" };
    expect((await post(server, SEND, gzip, envelope(gzipSync(bytes()), 1))).trailers["grpc-status"]).toBe(
      "0",
    );
    const bomb = envelope(gzipSync(bytes(message("x".repeat(5_000_000)))), 1);
    expect(bomb.length).toBeLessThan(20_000);
    expect(grpcError(await post(server, SEND, gzip, bomb))).toMatchObject({
      code: 8,
      reason: "PAYLOAD_TOO_LARGE",
    });
    const other = await post(server, SEND, { ...GRPC, "grpc-encoding": "zstd" }, envelope(bytes(), 1));
    expect(grpcError(other).code).toBe(12);
    expect(other.headers["grpc-accept-encoding"]).toContain("gzip");
  });

  it("A2A-8 refuses a credential before it looks at the message", async () => {
    const server = await startGrpcServer();
    const { authorization: _, ...anonymous } = GRPC;
    expect(grpcError(await post(server, SEND, anonymous, Buffer.from([0xff])))).toMatchObject({ code: 16 });
  });

  it("Connect: bad JSON, bad UTF-8 and wrong types are 400 with details; unknown fields are ignored", async () => {
    const server = await startGrpcServer();
    const cases: [Uint8Array, string][] = [
      [Buffer.from("{"), "PARSE_ERROR"],
      [Buffer.from([0x22, 0xff, 0x22]), "PARSE_ERROR"],
      [Buffer.from('{"message":7}'), "INVALID_PARAMS"],
    ];
    for (const [body, reason] of cases) {
      const answer = await post(server, SEND, JSON_, body);
      const error = JSON.parse(answer.body.toString());
      expect([answer.status, error.code]).toEqual([400, "invalid_argument"]);
      const [detail] = error.details;
      expect(detail.type).toBe("google.rpc.ErrorInfo");
      expect(fromBinary(ErrorInfoSchema, Buffer.from(detail.value, "base64")).reason).toBe(reason);
    }
    const known = '"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"soon":1}';
    expect((await post(server, SEND, JSON_, Buffer.from(`{${known},"later":{}}`))).status).toBe(200);
  });

  it("answers 405, 415 and an unknown method in the form of the sender, never with an empty body", async () => {
    const server = await startGrpcServer();
    const get = await post(server, SEND, JSON_, undefined, "PUT");
    expect([get.status, get.headers.allow]).toEqual([405, "POST"]);
    const text = await post(server, SEND, { ...AUTH, "content-type": "text/plain" });
    expect(text.status).toBe(415);
    expect([text.headers["content-type"], text.body.toString()]).toEqual([
      "text/plain; charset=utf-8",
      "the Content-Type is of no protocol that serves this method\n",
    ]);
    const stream = await post(server, "/lf.a2a.v1.A2AService/SubscribeToTask", JSON_, Buffer.from("{}"));
    expect([stream.status, stream.headers["accept-post"]]).toEqual([
      415,
      expect.stringContaining("connect+json"),
    ]);
    const unknown = await post(server, "/no.such.Service/Method", GRPC);
    expect(grpcError(unknown)).toMatchObject({ code: 12, reason: "METHOD_NOT_FOUND" });
    const connect = await post(server, "/lf.a2a.v1.A2AService/Nope", JSON_);
    expect([connect.status, JSON.parse(connect.body.toString()).code]).toEqual([404, "unimplemented"]);
  });

  it("A2A-115 JSON is printed as on HTTP+JSON, and a number that has no JSON stays readable", async () => {
    const server = await startGrpcServer();
    const path = "/lf.a2a.v1.A2AService/GetTask";
    const answer = await post(server, path, JSON_, Buffer.from('{"id":"nan"}'));
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body.toString())).toEqual({ id: "nan", metadata: { secret: "NaN" } });
    const list = await post(server, "/lf.a2a.v1.A2AService/ListTasks", JSON_, Buffer.from("{}"));
    expect(Object.keys(JSON.parse(list.body.toString()))).toEqual([
      "tasks",
      "nextPageToken",
      "pageSize",
      "totalSize",
    ]);
  });

  it("leaves paths that are no RPC to other handlers", async () => {
    const server = await startGrpcServer();
    const answer = await post(server, "/acme/message:send", JSON_, Buffer.from("{}"));
    expect(JSON.parse(answer.body.toString()).error.details[0].reason).toBe("ROUTE_NOT_FOUND");
    expect((await post(server, "/tasks/x", JSON_)).status).toBe(404);
  });

  it("treats a deadline of years as none, and a malformed one as an error", async () => {
    const server = await startGrpcServer();
    const far = await post(server, SEND, { ...GRPC, "grpc-timeout": "99999999H" }, envelope(bytes()));
    expect(far.trailers["grpc-status"]).toBe("0");
    const bad = await post(server, SEND, { ...GRPC, "grpc-timeout": "soon" }, envelope(bytes()));
    expect(grpcError(bad)).toMatchObject({ code: 3, reason: "INVALID_REQUEST" });
  });

  it("ends a request whose message never arrives", async () => {
    const server = await startGrpcServer({ bodyTimeoutMs: 100 });
    const session = h2connect(server.listener.url);
    const stream = session.request({ ":method": "POST", ":path": SEND, ...GRPC }, { endStream: false });
    stream.on("error", () => {});
    let status: unknown;
    stream.on("trailers", (trailers) => {
      status = trailers["grpc-status"];
    });
    stream.on("response", (headers) => {
      status ??= headers["grpc-status"];
    });
    stream.resume();
    stream.write(Buffer.from([0, 0, 0]));
    await expect.poll(() => status).toBe("4");
    session.destroy();
  });

  it("survives a request without a usable host", async () => {
    const server = await startGrpcServer();
    for (const host of ["", "a b", "[::"]) {
      const answer = await new Promise<number>((resolve, reject) => {
        const request = httpRequest(
          `${server.listener.url}${SEND}`,
          { method: "POST", headers: { ...JSON_, host }, setHost: false },
          (response) => {
            response.resume();
            resolve(response.statusCode ?? 0);
          },
        );
        request.on("error", reject);
        request.end("{}");
      });
      expect(answer).toBe(400);
    }
  });
});

describe("SB-54 security headers", () => {
  it.each([
    ["gRPC", SEND, GRPC],
    ["gRPC-Web", SEND, { ...AUTH, "content-type": "application/grpc-web+proto" }],
    ["Connect", SEND, JSON_],
    [
      "a Connect stream",
      "/lf.a2a.v1.A2AService/SubscribeToTask",
      { ...AUTH, "content-type": "application/connect+json" },
    ],
    ["an unauthenticated call", SEND, { "content-type": "application/grpc" }],
    ["an unknown method", "/lf.a2a.v1.A2AService/Nope", GRPC],
  ])("Q24 are on %s", async (_name, path, headers) => {
    const server = await startGrpcServer();
    const answer = await post(server, path, headers, envelope(Buffer.from("{}")));
    for (const [header, value] of Object.entries(SECURITY_HEADERS))
      expect(answer.headers[header]).toBe(value);
  });
});

describe("abandoned work", () => {
  it("G5 a stream of many messages gathers no listeners", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    const server = await startGrpcServer();
    const client = createClient(A2AService, createGrpcTransport({ baseUrl: server.listener.url }));
    for (let index = 0; index < 50; index += 1) await collect(client.subscribeToTask({ id: "T1" }, withAuth));
    await sleep(20);
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
    await expect.poll(() => server.listener.inFlight).toBe(0);
  });
});
