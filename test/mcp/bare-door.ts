import { parseConfig } from "../../src/config/load.ts";
import { type Verb, WORK_VERBS } from "../../src/domain/caller.ts";
import { type Core, createCore } from "../../src/server/core.ts";
import { startListener } from "../../src/server/listener.ts";
import { EndpointStore } from "../../src/store/endpoints.ts";
import { createMcpHandler } from "../../src/transports/mcp/handler.ts";
import type { TestRedis } from "../redis-server.ts";

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
  const core = await createCore({ config, redis, adminToken: "unused", push: undefined, publicUrl, onError });
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
