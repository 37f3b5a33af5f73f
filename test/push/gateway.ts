import { startTestGateway, type TestGateway } from "../gateway.ts";
import { withAuthorityFile } from "./authority-file.ts";
import { testAuthority } from "./receiver.ts";
import { QUICK } from "./rig.ts";

export interface RpcAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of many shapes
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** A whole gateway with push, and a JSON-RPC client for it. */
export interface PushGateway extends TestGateway {
  rpc(
    credential: string,
    method: string,
    params: object,
    headers?: Record<string, string>,
  ): Promise<RpcAnswer>;
  send(credential: string, more?: object, text?: string): Promise<RpcAnswer>;
  work(credential: string, method: string, body: object): Promise<Response>;
  admin(method: string, body: object, service?: string): Promise<Response>;
}

export async function startPushGateway(
  push: Record<string, unknown> = {},
  document: Record<string, unknown> = {},
): Promise<PushGateway> {
  const gateway = await withAuthorityFile(testAuthority().ca, (caFile) =>
    startTestGateway({ push: { ...QUICK, secretKey: undefined, caFiles: [caFile], ...push }, ...document }),
  );
  const post = (url: string, token: string, body: object, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
      body: JSON.stringify(body),
    });
  let id = 0;
  const rpc: PushGateway["rpc"] = async (credential, method, params, headers) => {
    const body = { jsonrpc: "2.0", id: ++id, method, params };
    const response = await post(`${gateway.url}/`, credential, body, headers);
    return (await response.json()) as RpcAnswer;
  };
  return {
    ...gateway,
    get openStreams() {
      return gateway.openStreams;
    },
    rpc,
    send: (credential, more = {}, text = "please") =>
      rpc(credential, "SendMessage", {
        message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] },
        configuration: { returnImmediately: true, ...more },
      }),
    work: (credential, method, body) =>
      post(`${gateway.url}/baton.worker.v1.WorkerService/${method}`, credential, body),
    admin: (method, body, service = "PushService") =>
      post(`${gateway.adminUrl}/baton.admin.v1.${service}/${method}`, gateway.adminToken, body),
  };
}
