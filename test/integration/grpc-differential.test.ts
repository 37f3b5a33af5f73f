/**
 * The two gRPC paths, straight on HTTP/2 and through connect-es, answer every call alike: same status, message, details,
 * headers and bytes. One dispatcher stands behind both. `BATON_DIFFERENTIAL_CALLS` sets the number of generated calls.
 */
import { type ClientHttp2Session, connect, constants, type OutgoingHttpHeaders } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  SendMessageRequestSchema,
  SubscribeToTaskRequestSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Listener, startListener } from "../../src/server/listener.ts";
import { SECURITY_HEADERS } from "../../src/server/security-headers.ts";
import { createConnectHandler } from "../../src/transports/connect.ts";
import { createGrpcHandler } from "../../src/transports/grpc/handler.ts";
import { closeGrpcServers, startGrpcServer } from "./grpc-server.ts";

const CALLS = Number(process.env.BATON_DIFFERENTIAL_CALLS ?? 400);
const MAX_BYTES = 4096;

interface RawCall {
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

interface RawAnswer {
  readonly headers: Record<string, unknown>;
  readonly trailers: Record<string, unknown>;
  readonly body: string;
  readonly reset: number;
}

let lean: Listener;
let full: Listener;
let leanSession: ClientHttp2Session;
let fullSession: ClientHttp2Session;

beforeAll(async () => {
  const { dispatcher } = await startGrpcServer();
  const options = { dispatcher, readMaxBytes: MAX_BYTES };
  const handlers = [createConnectHandler(options)];
  const streamHandlers = [createGrpcHandler({ ...options, baseHeaders: SECURITY_HEADERS })];
  full = await startListener({ host: "127.0.0.1", port: 0, handlers });
  lean = await startListener({ host: "127.0.0.1", port: 0, handlers, streamHandlers });
  leanSession = connect(lean.url);
  fullSession = connect(full.url);
});

afterAll(async () => {
  leanSession.destroy();
  fullSession.destroy();
  await Promise.all([lean.close(), full.close(), closeGrpcServers()]);
});

/** What differs from call to call and says nothing. */
const VARYING = new Set(["date", "x-request-id"]);

function kept(headers: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !VARYING.has(name)));
}

function send(session: ClientHttp2Session, call: RawCall): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": call.path,
      "content-type": "application/grpc",
      te: "trailers",
      ...call.headers,
    });
    const chunks: Buffer[] = [];
    let headers: Record<string, unknown> = {};
    let trailers: Record<string, unknown> = {};
    stream.on("response", (received) => {
      headers = kept(received);
    });
    stream.on("trailers", (received) => {
      trailers = kept(received);
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", (error) => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR) reject(error);
    });
    stream.on("close", () =>
      resolve({ headers, trailers, body: Buffer.concat(chunks).toString("hex"), reset: stream.rstCode ?? 0 }),
    );
    stream.end(call.body);
  });
}

/**
 * One place for what a client learns. Where an error comes before any message, one path may send it as the only headers
 * and the other as trailers; gRPC gives both the same meaning.
 */
function learnt(answer: RawAnswer): object {
  const all: Record<string, unknown> = { ...answer.headers, ...answer.trailers };
  // Either path may percent-encode more than it must; what is compared is the text that a client reads.
  if (typeof all["grpc-message"] === "string") all["grpc-message"] = decodeURIComponent(all["grpc-message"]);
  return { all, body: answer.body };
}

function frame(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const ids = fc.oneof(fc.constantFrom("t1", "nope", "", "  ", "td_1/2"), fc.string({ maxLength: 40 }));
const tenants = fc.constantFrom("", "", "", "acme", "other", "team/blue", "nobody");

const messages = fc.oneof(
  fc.record({ id: ids, tenant: tenants, historyLength: fc.integer({ min: -1, max: 5 }) }).map((value) => ({
    path: "GetTask",
    bytes: toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, value)),
  })),
  fc.record({ id: ids, tenant: tenants }).map((value) => ({
    path: "SubscribeToTask",
    bytes: toBinary(SubscribeToTaskRequestSchema, create(SubscribeToTaskRequestSchema, value)),
  })),
  fc
    .record({ pageSize: fc.integer({ min: -2, max: 200 }), tenant: tenants, pageToken: fc.string() })
    .map((value) => ({
      path: "ListTasks",
      bytes: toBinary(ListTasksRequestSchema, create(ListTasksRequestSchema, value)),
    })),
  fc
    .record({
      method: fc.constantFrom("SendMessage", "SendStreamingMessage"),
      text: fc.oneof(fc.string(), fc.constant("x".repeat(MAX_BYTES + 1))),
      messageId: fc.constantFrom("m1", ""),
      role: fc.integer({ min: 0, max: 3 }),
      tenant: tenants,
    })
    .map(({ method, text, messageId, role, tenant }) => ({
      path: method,
      bytes: toBinary(
        SendMessageRequestSchema,
        create(SendMessageRequestSchema, {
          tenant,
          message: { messageId, role, parts: [{ content: { case: "text", value: text } }] },
        }),
      ),
    })),
  fc.record({
    path: fc.constantFrom("GetTask", "SendMessage", "Nope"),
    bytes: fc.uint8Array({ maxLength: 60 }),
  }),
);

const calls: fc.Arbitrary<RawCall> = fc
  .record({
    message: messages,
    framing: fc.constantFrom("plain", "plain", "plain", "gzip", "gzip-lie", "flags", "twice", "cut", "none"),
    credential: fc.constantFrom(
      "Bearer acme",
      "Bearer acme",
      "Bearer acme",
      "Bearer other",
      "Bearer x",
      undefined,
    ),
    version: fc.constantFrom(undefined, undefined, "1.0", "1.0.1", "0.3", "99.0", "abc", ""),
    timeout: fc.constantFrom(undefined, undefined, "20S", "99999999H", "abc", "5"),
    extensions: fc.constantFrom(undefined, "urn:a,urn:b"),
  })
  .map(({ message, framing, credential, version, timeout, extensions }) => {
    const plain = frame(message.bytes);
    const bodies: Record<string, Buffer> = {
      plain,
      gzip: frame(gzipSync(message.bytes), 1),
      "gzip-lie": frame(message.bytes, 1),
      flags: frame(message.bytes, 4),
      twice: Buffer.concat([plain, plain]),
      cut: plain.subarray(0, Math.max(0, plain.length - 1)),
      none: Buffer.alloc(0),
    };
    const headers: OutgoingHttpHeaders = {};
    if (framing.startsWith("gzip")) headers["grpc-encoding"] = "gzip";
    if (credential !== undefined) headers.authorization = credential;
    if (version !== undefined) headers["a2a-version"] = version;
    if (timeout !== undefined) headers["grpc-timeout"] = timeout;
    if (extensions !== undefined) headers["a2a-extensions"] = extensions;
    return { path: `/lf.a2a.v1.A2AService/${message.path}`, headers, body: bodies[framing] ?? plain };
  });

describe("gRPC on HTTP/2 streams and through connect-es (A2A-1, A2A-146, A2A-148)", () => {
  it(`answers ${CALLS} generated calls alike: status, message, details, headers, bytes`, async () => {
    const statuses = new Set<unknown>();
    await fc.assert(
      fc.asyncProperty(calls, async (call) => {
        const [ours, theirs] = await Promise.all([send(leanSession, call), send(fullSession, call)]);
        expect(learnt(ours)).toEqual(learnt(theirs));
        statuses.add(ours.trailers["grpc-status"] ?? ours.headers["grpc-status"]);
      }),
      { numRuns: CALLS, seed: Number(process.env.BATON_SEED ?? 7) },
    );
    // The calls reach success and each of the refusals that they were made for.
    expect([...statuses].sort()).toEqual(expect.arrayContaining(["0", "3", "5", "8", "16", "9", "7"].sort()));
  });

  it("is really the lean path that is compared: connect-es does not see its calls", async () => {
    const { dispatcher } = await startGrpcServer();
    const streamHandlers = [
      createGrpcHandler({ dispatcher, readMaxBytes: MAX_BYTES, baseHeaders: SECURITY_HEADERS }),
    ];
    const only = await startListener({ host: "127.0.0.1", port: 0, handlers: [], streamHandlers });
    const session = connect(only.url);
    const body = frame(toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id: "t1" })));
    const path = "/lf.a2a.v1.A2AService/GetTask";
    const answer = await send(session, { path, headers: { authorization: "Bearer acme" }, body });
    expect(answer.trailers["grpc-status"]).toBe("0");
    expect(answer.headers).toMatchObject(SECURITY_HEADERS);
    session.destroy();
    await only.close();
  });
});
