/** The port of callers: every binding of the A2A services, the worker service and the MCP door, and how it lets go. */
import { setTimeout as sleep } from "node:timers/promises";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Config, RESERVED_AGENT_NAMES } from "../config/schema.ts";
import type { BatonError } from "../domain/errors.ts";
import type { Push } from "../push/push.ts";
import { createCardHandler } from "../transports/card.ts";
import { createConnectHandler } from "../transports/connect.ts";
import { createCorsHandler } from "../transports/cors.ts";
import { Forwarded } from "../transports/forwarded.ts";
import { createGrpcHandler } from "../transports/grpc/handler.ts";
import { createHealth } from "../transports/grpc-health/health.ts";
import { createReflection } from "../transports/grpc-reflection/reflection.ts";
import type { CallRequest } from "../transports/http-handler.ts";
import { createJsonRpcHandler } from "../transports/jsonrpc/handler.ts";
import { leanCallsOf } from "../transports/lean-calls.ts";
import { createMcpHandler } from "../transports/mcp/handler.ts";
import { createRestHandler } from "../transports/rest/handler.ts";
import { DEFAULT_SSE } from "../transports/sse.ts";
import { v03Bindings } from "../transports/v03/jsonrpc/bindings.ts";
import { v03Routes } from "../transports/v03/rest/routes.ts";
import type { Core } from "./core.ts";
import { startListener, type TlsMaterial } from "./listener.ts";
import type { ServerLog } from "./log.ts";
import { createOpenWopHandlers } from "./openwop-handlers.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";
import { programVersion } from "./version.ts";

export interface CallersOptions {
  readonly config: Config;
  readonly core: Core;
  readonly push: Push | undefined;
  readonly tls: TlsMaterial | undefined;
  readonly log: ServerLog | undefined;
  /** Other processes listen on the same port. */
  readonly reusePort: boolean;
  /** Limits on calls, as on the admin port. */
  readonly connect: { readonly readMaxBytes: number; readonly stallMs: number; readonly log?: ServerLog };
  publicUrl(): string;
}

/** The open port of callers. */
export interface Callers {
  readonly url: string;
  readonly port: number;
  /** Connections that are open. */
  readonly connections: number;
  /** Lets go of clients; see `Gateway.stop`. */
  drain(options: { readonly delayMs: number; readonly graceMs: number }): Promise<void>;
  /** Cuts every connection. */
  close(): Promise<void>;
}

/** Between the notice to connections and the end of streams: a client that hears of both at once is slow to hear either. */
const STREAMS_AFTER_MS = 500;

/** Rejects when the address cannot be bound. */
export async function startCallers(options: CallersOptions): Promise<Callers> {
  const { config, core, push, publicUrl, tls, log } = options;
  const { dispatcher } = core;
  const maxBodyBytes = config.limits.bodyBytes;
  const stallMs = config.streams.stallSeconds * 1000;
  const sse = { ...DEFAULT_SSE, keepAliveMs: config.streams.keepAliveSeconds * 1000, stallMs };
  const reserved = new Set<string>(RESERVED_AGENT_NAMES);
  const shutdown = new AbortController();
  const connect = { ...options.connect, shutdown: shutdown.signal };
  const health = createHealth();
  for (const service of dispatcher.services) health.set(service.typeName, "SERVING");
  const plainServices = [health.routes, createReflection({ services: dispatcher.services })];
  const answered = (error: BatonError) => {
    if (error.kind === "Internal") log?.error({ err: error.cause ?? error }, "a call failed");
  };
  const forwarded = new Forwarded(config.listen.trustedProxies);
  const noteClient = (request: CallRequest) => {
    forwarded.note(request);
    return false as const;
  };
  const cors = config.listen.cors === undefined ? [] : [createCorsHandler(config.listen.cors)];
  const moreRoutes = v03Routes();
  const rest = createRestHandler({
    dispatcher,
    service: A2AService,
    moreRoutes,
    maxBodyBytes,
    sse,
    onError: answered,
  });
  const jsonrpc = createJsonRpcHandler({
    dispatcher,
    service: A2AService,
    moreBindings: v03Bindings(),
    reserved,
    maxBodyBytes,
    earlyStreamErrors: config.streams.earlyErrors,
    sse,
    onError: answered,
  });
  const listener = await startListener({
    host: config.listen.host,
    port: config.listen.port,
    // By the end of the delay clients have dropped what they did not use in it, and what they used was answered `close`.
    limits: { pingMs: sse.keepAliveMs, keepAliveHintMs: config.drain.delaySeconds * 1000, stallMs },
    reusePort: options.reusePort,
    handlers: [
      noteClient,
      ...cors,
      createCardHandler({
        cardOf: (name, base) => core.cards.published(name, base),
        keys: core.cards.keys,
        maxAgeSeconds: config.cards.maxAgeSeconds,
        forwarded,
      }),
      core.friendRequests,
      ...createOpenWopHandlers({ ...core, config, push, publicUrl }),
      createConnectHandler({ ...connect, dispatcher, plainServices }),
      createMcpHandler({
        services: core.mcp,
        version: programVersion(),
        publicUrl,
        origins: config.listen.cors?.origins ?? [],
        keepAliveMs: sse.keepAliveMs,
        onError: answered,
      }),
      rest,
      jsonrpc,
    ],
    ...(config.listen.leanHttp
      ? {
          leanCalls: {
            takes: leanCallsOf({ rest, jsonrpc, firstSegments: callSegments(core) }),
            handlers: [noteClient, ...cors, rest, jsonrpc],
            maxBodyBytes,
          },
        }
      : {}),
    streamHandlers: config.listen.leanGrpc
      ? [createGrpcHandler({ ...connect, dispatcher, forwarded, baseHeaders: SECURITY_HEADERS })]
      : [],
    ...(tls === undefined ? {} : { tls }),
    ...(log === undefined ? {} : { log }),
  });

  return {
    url: listener.url,
    port: listener.port,
    get connections() {
      return listener.connections;
    },
    async drain({ delayMs, graceMs }) {
      health.shutdown();
      listener.retire();
      if (delayMs > 0) await sleep(delayMs);
      // Connections are told first, so that clients whose streams end look for another one.
      const drained = listener.drain(graceMs);
      if (core.streams.size > 0) await sleep(Math.min(STREAMS_AFTER_MS, graceMs / 8));
      shutdown.abort();
      core.streams.drain();
      await drained;
    },
    close: () => listener.close(),
  };
}

/** Where OpenWOP paths begin, which come before those of an agent of the same name. */
const OPENWOP_SEGMENTS = ["runs", "workflows", "conformance"];

/** First segments of paths that mean an A2A call and cannot mean anything else. */
function callSegments({ agents, dispatcher }: Core): Set<string> {
  const elsewhere = new Set([...OPENWOP_SEGMENTS, ...dispatcher.services.map(({ typeName }) => typeName)]);
  const names = agents.all.map(({ name }) => name).filter((name) => !elsewhere.has(name));
  return new Set(["tasks", "message:send", "extendedAgentCard", "v1", ...names]);
}
