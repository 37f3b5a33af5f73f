import { once } from "node:events";
import { connect as connectHttp2, type Settings } from "node:http2";
import { connect } from "node:net";
import { toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AService, GetTaskRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { eventually } from "../cluster/servers.ts";
import { UNLIMITED } from "../gateway.ts";
import { agentSays, senderOf } from "./client.ts";
import { startWorld, type World } from "./world.ts";

let world: World;
let token: string;
let id: string;

beforeAll(async () => {
  world = await startWorld({
    streams: { stallSeconds: 1 },
    // More than the buffers of a system hold.
    limits: { ...UNLIMITED, taskBytes: 32 * 1024 * 1024 },
  });
  token = await world.gateway.vend();
  ({ id } = await senderOf(world.gateway.url, token).send("large"));
  const worker = await world.worker();
  await worker.claimById({ id });
  const text = "x".repeat(200 * 1024);
  for (let count = 0; count < 80; count += 1) await worker.updateStatus({ id, message: agentSays(text) });
});
afterAll(() => world?.stop());

interface Form {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly type?: string;
  readonly body?: Buffer;
}

function forms(): Form[] {
  const request = Buffer.from(
    toBinary(GetTaskRequestSchema, { $typeName: "lf.a2a.v1.GetTaskRequest", tenant: "", id }),
  );
  const head = Buffer.alloc(5);
  head.writeUInt32BE(request.length, 1);
  const rpc = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id } }));
  const path = `/${A2AService.typeName}/GetTask`;
  const subscribe = `/${A2AService.typeName}/SubscribeToTask`;
  const post = { method: "POST" };
  const framed = Buffer.concat([head, request]);
  return [
    { ...post, name: "gRPC", path, type: "application/grpc", body: framed },
    { ...post, name: "Connect", path, type: "application/proto", body: request },
    { ...post, name: "gRPC-Web", path, type: "application/grpc-web+proto", body: framed },
    { ...post, name: "JSON-RPC", path: "/", type: "application/json", body: rpc },
    { name: "REST", method: "GET", path: `/tasks/${id}` },
    // Streams, whose first message is the task.
    { ...post, name: "gRPC stream", path: subscribe, type: "application/grpc", body: framed },
    { ...post, name: "Connect stream", path: subscribe, type: "application/connect+proto", body: framed },
    { ...post, name: "REST stream", path: `/tasks/${id}:subscribe` },
  ];
}

const NAMES = [
  "gRPC",
  "Connect",
  "gRPC-Web",
  "JSON-RPC",
  "REST",
  "gRPC stream",
  "Connect stream",
  "REST stream",
];

function formOf(name: string): Form {
  const form = forms().find((each) => each.name === name);
  if (form === undefined) throw new Error(name);
  return form;
}

/** Sends it over HTTP/2, and reads nothing yet. */
function ask(name: string, settings: Settings = {}) {
  const { method, path, type, body } = formOf(name);
  const session = connectHttp2(world.gateway.url, { settings });
  session.on("error", () => {});
  const stream = session.request({
    ":method": method,
    ":path": path,
    ...(type === undefined ? {} : { "content-type": type }),
    te: "trailers",
    "a2a-version": "1.0",
    authorization: `Bearer ${token}`,
  });
  stream.on("error", () => {});
  stream.end(body);
  return { session, stream };
}

describe("a client that takes nothing of its answer", () => {
  it.each(NAMES)("SB-49 is cut on HTTP/2: %s", async (name) => {
    const { session, stream } = ask(name, { initialWindowSize: 16_384 });
    const [headers] = (await once(stream, "response")) as [{ ":status": number }];
    expect(headers[":status"]).toBe(200);
    await eventually("the server reset the stream", async () => stream.closed || stream.destroyed);
    expect(stream.rstCode).not.toBe(0);
    session.destroy();
  });

  it.each(NAMES.filter((name) => !/^gRPC( stream)?$/.test(name)))(
    "SB-49 is cut on HTTP/1.1: %s",
    async (name) => {
      const { method, path, type, body = Buffer.alloc(0) } = formOf(name);
      const socket = connect(world.gateway.port, "127.0.0.1");
      socket.on("error", () => {});
      await once(socket, "connect");
      const head = [
        `${method} ${path} HTTP/1.1`,
        "Host: x",
        "A2A-Version: 1.0",
        `Authorization: Bearer ${token}`,
        ...(type === undefined ? [] : [`Content-Type: ${type}`, `Content-Length: ${body.length}`]),
      ];
      let size = 0;
      socket.on("data", (chunk: Buffer) => {
        size += chunk.length;
      });
      socket.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]));
      await once(socket, "data");
      socket.pause();
      await new Promise((resolve) => setTimeout(resolve, 3500));
      const gone = once(socket, "close", { signal: AbortSignal.timeout(10_000) });
      socket.resume();
      await gone;
      expect(size).toBeLessThan(80 * 200 * 1024);
    },
  );

  it.each(NAMES)("SB-49 is served as long as it takes anything: %s", async (name) => {
    const { session, stream } = ask(name);
    let size = 0;
    // So slow that the whole takes longer than a stall may.
    let budget = 0;
    const timer = setInterval(() => {
      budget += 1024 * 1024;
      stream.resume();
    }, 200);
    const whole = new Promise<void>((resolve) => {
      stream.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > 80 * 200 * 1024) resolve();
        if (size > budget) stream.pause();
      });
    });
    const cut = once(stream, "close").then(() => {
      throw new Error(`cut after ${size} bytes, with ${stream.rstCode}`);
    });
    await Promise.race([whole, cut]);
    // A stream goes on.
    if (!name.endsWith("stream")) {
      stream.resume();
      await cut.catch(() => {});
      expect(stream.rstCode).toBe(0);
    }
    clearInterval(timer);
    cut.catch(() => {});
    session.destroy();
  });
});
