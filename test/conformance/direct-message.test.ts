/** Agents that answer with a message and make no task: no back end here does, the transports and 0.3 must be able to. */
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AService as V03 } from "../../gen/a2a/v1/a2a_pb.js";
import {
  A2AService,
  type Message,
  MessageSchema,
  Role,
  SendMessageResponseSchema,
  StreamResponseSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Listener, startListener } from "../../src/server/listener.ts";
import { Dispatcher } from "../../src/service/dispatcher.ts";
import { createConnectHandler } from "../../src/transports/connect.ts";
import { createGrpcHandler } from "../../src/transports/grpc/handler.ts";
import { createJsonRpcHandler } from "../../src/transports/jsonrpc/handler.ts";
import { createRestHandler } from "../../src/transports/rest/handler.ts";
import { createV03Service } from "../../src/transports/v03/grpc/service.ts";
import { v03Bindings } from "../../src/transports/v03/jsonrpc/bindings.ts";
import { v03Routes } from "../../src/transports/v03/rest/routes.ts";
import { Peer } from "../scenarios/actors.ts";
import type { Driver } from "../scenarios/driver.ts";
import { AUTH, a2aHandlers, DISPATCH } from "../unit/transports/a2a-server.ts";
import { DRIVERS } from "./drivers.ts";

let listener: Listener;

function answer(): Message {
  return create(MessageSchema, {
    messageId: "answer",
    contextId: "c1",
    role: Role.AGENT,
    parts: [{ content: { case: "text", value: "hello" } }],
  });
}

beforeAll(async () => {
  const dispatcher = new Dispatcher({ ...DISPATCH, versions: ["1.0", "0.3"] });
  const handlers = {
    ...a2aHandlers([]),
    async sendMessage() {
      return create(SendMessageResponseSchema, { payload: { case: "message", value: answer() } });
    },
    async *sendStreamingMessage() {
      yield { message: create(StreamResponseSchema, { payload: { case: "message", value: answer() } }) };
    },
  } satisfies ReturnType<typeof a2aHandlers>;
  dispatcher.register(A2AService, handlers, { a2a: true });
  dispatcher.register(V03, createV03Service(handlers), { a2a: true, ownChecks: true });
  listener = await startListener({
    host: "127.0.0.1",
    port: 0,
    handlers: [
      createConnectHandler({ dispatcher }),
      createRestHandler({ dispatcher, service: A2AService, moreRoutes: v03Routes() }),
      createJsonRpcHandler({
        dispatcher,
        service: A2AService,
        moreBindings: v03Bindings(),
        reserved: new Set(),
      }),
    ],
    streamHandlers: [createGrpcHandler({ dispatcher, readMaxBytes: 65_536, baseHeaders: {} })],
  });
});
afterAll(() => listener?.close());

const MESSAGE = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] };

describe.each(DRIVERS.map((kind) => [kind.name, kind] as const))("%s", (_, kind) => {
  let driver: Driver;
  let peer: Peer;
  beforeAll(async () => {
    driver = await kind.connect({ url: listener.url, authority: new URL(listener.url).host });
    peer = new Peer(driver, { token: "acme" });
  });
  afterAll(() => driver?.close());

  it("A2A-29, A2A-47 the answer is that message and nothing else", async () => {
    const { payload } = (await peer.call("SendMessage", { message: MESSAGE })).message;
    expect(payload.case).toBe("message");
    expect(payload.value).toMatchObject({
      messageId: "answer",
      contextId: "c1",
      role: Role.AGENT,
      taskId: "",
    });
  });

  it("A2A-81 a stream holds it and ends", async () => {
    const events = await (await peer.open("SendStreamingMessage", { message: MESSAGE })).all();
    expect(events.map(({ payload }) => payload.case)).toEqual(["message"]);
  });
});

describe("0.3", () => {
  const params = {
    message: { kind: "message", messageId: "m1", role: "user", parts: [{ kind: "text", text: "hi" }] },
  };
  const post = (path: string, body: unknown) =>
    fetch(`${listener.url}${path}`, {
      method: "POST",
      headers: { ...AUTH, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const expected = {
    kind: "message",
    messageId: "answer",
    contextId: "c1",
    role: "agent",
    parts: [{ kind: "text", text: "hello" }],
  };

  it("A2A-47 JSON-RPC answers the bare message, a stream it alone", async () => {
    const sent = (await (
      await post("/", { jsonrpc: "2.0", id: 1, method: "message/send", params })
    ).json()) as object;
    expect(sent).toEqual({ jsonrpc: "2.0", id: 1, result: expected });
    const text = await (await post("/", { jsonrpc: "2.0", id: 1, method: "message/stream", params })).text();
    expect(text).toMatch(/^data: .*\n\n$/);
    expect(JSON.parse(text.slice("data: ".length))).toEqual({ jsonrpc: "2.0", id: 1, result: expected });
  });

  it("A2A-81 HTTP+JSON answers it under `message`", async () => {
    const request = { message: { messageId: "m1", role: "ROLE_USER", content: [{ text: "hi" }] } };
    const message = {
      messageId: "answer",
      contextId: "c1",
      role: "ROLE_AGENT",
      content: [{ text: "hello" }],
    };
    expect(await (await post("/v1/message:send", request)).json()).toEqual({ message });
    expect(await (await post("/v1/message:stream", request)).text()).toBe(
      `data: ${JSON.stringify({ message })}\n\n`,
    );
  });
});
