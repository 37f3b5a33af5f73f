import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import {
  A2AService,
  StreamResponseSchema,
  SubscribeToTaskRequestSchema,
  TaskSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Listener, startListener } from "../../src/server/listener.ts";
import { Dispatcher } from "../../src/service/dispatcher.ts";
import { createGrpcHandler } from "../../src/transports/grpc/handler.ts";
import { AUTH, a2aHandlers, DISPATCH } from "../unit/transports/a2a-server.ts";

const SUBSCRIBE = "/lf.a2a.v1.A2AService/SubscribeToTask";
const MAX_BYTES = 4_096;

type Response = MessageInitShape<typeof StreamResponseSchema>;

let listener: Listener | undefined;
let session: ClientHttp2Session | undefined;

afterEach(async () => {
  session?.destroy();
  await listener?.close();
});

/** The handlers of the tests on the lean path alone, with a stream of its own. */
async function start(items: (signal: AbortSignal) => AsyncIterable<Response>): Promise<ClientHttp2Session> {
  const dispatcher = new Dispatcher(DISPATCH);
  const handlers = {
    ...a2aHandlers([]),
    async *subscribeToTask(_request: object, call: { signal: AbortSignal }) {
      for await (const item of items(call.signal)) yield { message: create(StreamResponseSchema, item) };
    },
  };
  dispatcher.register(A2AService, handlers, { a2a: true });
  const options = { dispatcher, readMaxBytes: MAX_BYTES, bodyTimeoutMs: 100, baseHeaders: {} };
  const streamHandlers = [createGrpcHandler(options)];
  listener = await startListener({ host: "127.0.0.1", port: 0, handlers: [], streamHandlers });
  session = connect(listener.url);
  return session;
}

function open(to: ClientHttp2Session, headers: Record<string, string> = {}): ClientHttp2Stream {
  const stream = to.request({
    ":method": "POST",
    ":path": SUBSCRIBE,
    "content-type": "application/grpc",
    te: "trailers",
    ...AUTH,
    ...headers,
  });
  stream.on("error", () => {});
  return stream;
}

function frame(data: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

const REQUEST = frame(
  toBinary(SubscribeToTaskRequestSchema, create(SubscribeToTaskRequestSchema, { id: "T1" })),
);

/** The status of a call, wherever it stands. */
function statusOf(stream: ClientHttp2Stream): Promise<unknown> {
  return new Promise((resolve) => {
    const look = (headers: Record<string, unknown>): void => {
      if (headers["grpc-status"] !== undefined) resolve(headers["grpc-status"]);
    };
    stream.on("response", look);
    stream.on("trailers", look);
  });
}

async function* nothing(): AsyncIterable<Response> {}

describe("a gRPC call on its HTTP/2 stream", () => {
  it("ends a request whose message never arrives", async () => {
    const stream = open(await start(nothing));
    stream.write(REQUEST.subarray(0, 3));
    expect(await statusOf(stream)).toBe("4");
  });

  it("A2A-8 SB-53 refuses a credential before it looks at the message, and a message over the limit next", async () => {
    const to = await start(nothing);
    const large = frame(Buffer.alloc(MAX_BYTES + 1));
    const stranger = open(to, { authorization: "Bearer stranger" });
    stranger.write(large);
    expect(await statusOf(stranger)).toBe("16");
    const known = open(to);
    known.write(large);
    expect(await statusOf(known)).toBe("8");
  });

  it("writes a message whole before its deadline ends the call", async () => {
    const task = create(TaskSchema, { id: "x".repeat(500_000) });
    const to = await start(async function* () {
      yield { payload: { case: "task", value: task } };
      await sleep(60_000, undefined, { ref: false });
    });
    const stream = open(to, { "grpc-timeout": "200m" });
    const status = statusOf(stream);
    let received = 0;
    stream.end(REQUEST);
    await sleep(400);
    stream.on("data", (chunk: Buffer) => {
      received += chunk.length;
    });
    expect(await status).toBe("4");
    const message = create(StreamResponseSchema, { payload: { case: "task", value: task } });
    expect(received).toBe(5 + toBinary(StreamResponseSchema, message).length);
  });

  it("A2A-86 lets go of a stream whose client left, waiting or not, and tells its handler", async () => {
    let left = 0;
    const aborted: unknown[] = [];
    const to = await start(async function* (signal) {
      signal.addEventListener("abort", () => aborted.push(signal.reason));
      try {
        yield { payload: { case: "task", value: { id: "T1" } } };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        left += 1;
      }
    });
    const stream = open(to);
    stream.end(REQUEST);
    await new Promise((resolve) => stream.once("data", resolve));
    stream.close(8);
    await expect.poll(() => left).toBe(1);
    expect(aborted).toMatchObject([{ kind: "Canceled" }]);
    await expect.poll(() => listener?.inFlight).toBe(0);
  });
});
