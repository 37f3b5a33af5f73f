import { parseConfig } from "../../src/config/load.ts";
import { type Verb, WORK_VERBS } from "../../src/domain/caller.ts";
import { type Core, createCore } from "../../src/server/core.ts";
import { startListener } from "../../src/server/listener.ts";
import type { Call } from "../../src/service/call.ts";
import { EndpointStore } from "../../src/store/endpoints.ts";
import { createMcpHandler } from "../../src/transports/mcp/handler.ts";
import { McpSession } from "../../src/transports/mcp/session.ts";
import type { TestRedis } from "../redis-server.ts";
import { ACCEPT } from "./rig.ts";

/** A core with the MCP door and nothing else: one replica, whose clocks a test can set. */
export interface BareDoor {
  readonly url: string;
  readonly core: Core;
  /** `expiresAt` in milliseconds since the epoch. */
  vend(options?: { readonly verbs?: readonly Verb[]; readonly expiresAt?: number }): Promise<string>;
  stop(): Promise<void>;
}

export async function startBareDoor(
  server: TestRedis,
  options: { readonly idleMs?: number } = {},
): Promise<BareDoor> {
  const redis = await server.connect();
  const config = parseConfig({});
  let url = "";
  const publicUrl = () => url;
  const onError = (error: unknown) => {
    throw error;
  };
  const core = await createCore({
    config,
    redis,
    redisKind: "socket",
    adminToken: "unused",
    push: undefined,
    publicUrl,
    onError,
  });
  const handlers = [createMcpHandler({ services: core.mcp, version: "1", publicUrl, ...options })];
  const listener = await startListener({ host: "127.0.0.1", port: 0, handlers });
  url = listener.url;
  return {
    url,
    core,
    async vend({ verbs = WORK_VERBS, expiresAt } = {}) {
      const { credential } = await new EndpointStore(redis).create({
        name: "bare",
        agent: config.defaultAgent,
        owner: "operator",
        queues: ["default"],
        verbs,
        streaming: true,
        push: false,
        expiresAt,
        defaultLeaseSeconds: undefined,
        friend: undefined,
      });
      return credential;
    },
    async stop() {
      core.streams.drain();
      await listener.close();
      await core.stop();
    },
  };
}

/** A session of the door without a socket in between, so that a test decides when its client reads. */
export async function openSession(door: BareDoor): Promise<{
  readonly session: McpSession;
  readonly call: Call;
  request(method: string): Request;
}> {
  const credential = await door.vend();
  const { signal } = new AbortController();
  const caller = await door.core.mcp.authenticate({
    transport: "mcp",
    form: "1.0",
    remoteAddress: "127.0.0.1",
    signal,
    header: (name) => (name === "authorization" ? `Bearer ${credential}` : undefined),
  });
  const call: Call = {
    caller,
    agent: caller.agent,
    version: "1.0",
    transport: "mcp",
    extensions: [],
    signal,
    requestId: "direct",
    responseHeaders: new Map(),
  };
  const session = new McpSession(call, {
    services: door.core.mcp,
    version: "1",
    idleMs: 60_000,
    keepAliveMs: 60_000,
    onEnd: () => {},
    onError: () => {},
  });
  await session.open();
  const request = (method: string) =>
    new Request("http://door.invalid/", {
      method,
      headers: { accept: ACCEPT, "content-type": "application/json", "mcp-session-id": session.id },
    });
  const params = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "direct", version: "1" },
  };
  await session.post(request("POST"), { jsonrpc: "2.0", id: 0, method: "initialize", params }, call);
  return { session, call, request };
}
