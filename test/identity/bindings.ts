/** The same request on every binding, and what came back, without what differs by nature. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { A2AService as A2AServiceV03 } from "../../gen/a2a/v1/a2a_pb.js";
import { A2AService, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";

export interface Seen {
  readonly binding: string;
  /** HTTP or gRPC status. */
  readonly status: number | string;
  readonly body: string;
  readonly challenge: string | null;
}

let count = 0;
const message = () => {
  count += 1;
  return { messageId: `m-${process.pid}-${count}`, role: "ROLE_USER", parts: [{ text: "do it" }] };
};

const HTTP: readonly (readonly [string, string, Record<string, string>, () => object])[] = [
  [
    "JSON-RPC",
    "",
    {},
    () => ({
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: { message: message(), configuration: NOW },
    }),
  ],
  [
    "HTTP+JSON",
    "/message:send",
    { "a2a-version": "1.0" },
    () => ({ message: message(), configuration: NOW }),
  ],
  ["Connect", "/lf.a2a.v1.A2AService/SendMessage", {}, () => ({ message: message(), configuration: NOW })],
  [
    "JSON-RPC 0.3",
    "",
    {},
    () => ({
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: {
        message: { ...message(), kind: "message", role: "user", parts: [{ kind: "text", text: "do it" }] },
        configuration: { blocking: false },
      },
    }),
  ],
  [
    "HTTP+JSON 0.3",
    "/v1/message:send",
    {},
    () => ({
      message: { ...message(), content: [{ text: "do it" }], parts: undefined },
      configuration: NOT_BLOCKING,
    }),
  ],
];
const NOW = { returnImmediately: true };
const NOT_BLOCKING = { blocking: false };

/** Sends a message with a credential on each binding. */
export async function sendEverywhere(url: string, token: string | undefined, base = ""): Promise<Seen[]> {
  const authorization: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  const http = HTTP.map(async ([binding, path, headers, body]): Promise<Seen> => {
    const response = await fetch(`${url}${binding === "Connect" ? "" : base}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers, ...authorization },
      body: JSON.stringify(body()),
    });
    const { status } = response;
    const challenge = response.headers.get("www-authenticate");
    return { binding, status, body: await response.text(), challenge };
  });
  const options = { baseUrl: url };
  const parts = [{ content: { case: "text" as const, value: "do it" } }];
  const call = { headers: authorization };
  const modern = { message: { messageId: message().messageId, role: Role.USER, parts }, configuration: NOW };
  const legacy = () => ({
    request: {
      messageId: message().messageId,
      role: 1,
      content: [{ part: { case: "text" as const, value: "do it" } }],
    },
    configuration: NOT_BLOCKING,
  });
  const rpc: [string, () => Promise<unknown>][] = [
    ["gRPC", () => createClient(A2AService, createGrpcTransport(options)).sendMessage(modern, call)],
    [
      "gRPC-Web",
      () =>
        createClient(A2AService, createGrpcWebTransport({ ...options, httpVersion: "1.1" })).sendMessage(
          { ...modern, message: { ...modern.message, messageId: message().messageId } },
          call,
        ),
    ],
    ["gRPC 0.3", () => createClient(A2AServiceV03, createGrpcTransport(options)).sendMessage(legacy(), call)],
  ];
  const grpc = rpc.map(async ([binding, send]): Promise<Seen> => {
    try {
      await send();
      return { binding, status: "OK", body: "", challenge: null };
    } catch (thrown) {
      const error = ConnectError.from(thrown);
      const details = error.details.map((detail) =>
        "type" in detail ? [detail.type, [...detail.value]] : [],
      );
      const body = JSON.stringify([error.rawMessage, details]);
      return { binding, status: Code[error.code], body, challenge: null };
    }
  });
  return Promise.all([...http, ...grpc]);
}
