import { AUTH, type TestServer } from "./a2a-server.ts";
import { type Reply, type Sent, send1 } from "./client.ts";

export const JSON_BODY = { "content-type": "application/json" };

/** A client of one server: raw bodies, and calls with id 1. */
export interface JsonRpcClient {
  post(body: string | Buffer, sent?: Sent): Promise<Reply>;
  rpc(method: unknown, params?: unknown, sent?: Sent): Promise<Reply>;
}

export function jsonRpcClient(server: () => TestServer): JsonRpcClient {
  const post: JsonRpcClient["post"] = (body, sent = {}) => {
    const headers = { ...AUTH, ...JSON_BODY, ...sent.headers };
    return send1(server().port1, { method: "POST", body, ...sent, headers });
  };
  return {
    post,
    rpc: (method, params, sent = {}) => post(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), sent),
  };
}

/** The params of a message of one text, with more fields for the message. */
export function message(text: string, extra: object = {}): object {
  return { message: { messageId: "m1", role: "ROLE_USER", parts: [{ text }], ...extra } };
}
