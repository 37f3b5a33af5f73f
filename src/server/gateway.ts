import { isIP } from "node:net";
import { hostname } from "node:os";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { ConfigError } from "../config/load.ts";
import { type Config, RESERVED_AGENT_NAMES } from "../config/schema.ts";
import type { BatonError } from "../domain/errors.ts";
import { createPush } from "../push/push.ts";
import { openSecretBox } from "../push/secret-key.ts";
import { connectRedis } from "../store/connect-redis.ts";
import { createCardHandler } from "../transports/card.ts";
import { createConnectHandler } from "../transports/connect.ts";
import { createCorsHandler } from "../transports/cors.ts";
import { Forwarded } from "../transports/forwarded.ts";
import { createGrpcHandler } from "../transports/grpc/handler.ts";
import { createHealth } from "../transports/grpc-health/health.ts";
import { createReflection } from "../transports/grpc-reflection/reflection.ts";
import { createJsonRpcHandler } from "../transports/jsonrpc/handler.ts";
import { createMcpHandler } from "../transports/mcp/handler.ts";
import { createRestHandler } from "../transports/rest/handler.ts";
import { DEFAULT_SSE } from "../transports/sse.ts";
import { v03Bindings } from "../transports/v03/jsonrpc/bindings.ts";
import { v03Routes } from "../transports/v03/rest/routes.ts";
import { resolveAdminToken } from "./admin-token.ts";
import { CONSOLE_PATH, createConsoleHandler } from "./console.ts";
import { createCore } from "./core.ts";
import { egressProblems } from "./egress-settings.ts";
import { type Listener, startListener, type TlsMaterial } from "./listener.ts";
import type { ServerLog } from "./log.ts";
import { createOpenWopHandlers } from "./openwop-handlers.ts";
import { createProbeHandler } from "./probes.ts";
import { pushPrinters } from "./push-printers.ts";
import { isPersistent, openRedisSource } from "./redis-source.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";
import { createMetricsHandler, createTelemetry } from "./telemetry.ts";
import { readTlsFiles } from "./tls-files.ts";
import { FLUSH_MS, openTracer } from "./tracing.ts";
import { programVersion } from "./version.ts";

export interface GatewayOptions {
  readonly log?: ServerLog & { info(fields: object, message: string): void };
}

/** A running gateway. */
export interface Gateway {
  /** Base URL of every binding and of the worker service. */
  readonly url: string;
  readonly port: number;
  /** Base URL of the admin services and probes. */
  readonly adminUrl: string;
  /** Of the page for operators; absent where it is switched off. */
  readonly consoleUrl?: string;
  readonly adminToken: string;
  /** Open streams of this process. */
  readonly openStreams: number;
  /** Resolves when the embedded Redis ends by itself: the gateway serves nobody then, and should be started anew. */
  readonly lost: Promise<void>;
  /**
   * Lets go: readiness fails, streams end so that clients subscribe elsewhere, calls in flight finish, at most `graceMs`
   * (design.md section 8). Then everything is closed.
   */
  stop(graceMs?: number): Promise<void>;
}

const DEFAULT_GRACE_MS = 10_000;

/** Starts a gateway; rejects with everything that it had begun undone. */
export async function startGateway(config: Config, options: GatewayOptions = {}): Promise<Gateway> {
  const { log } = options;
  const undo: (() => Promise<void>)[] = [];
  const undoAll = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const tls = checkedTls(config);
  try {
    const adminToken = await resolveAdminToken(config);
    const tracer = await openTracer(config, log);
    // Undone last: what is still to happen makes spans.
    if (tracer !== undefined) undo.push(() => tracer.stop(FLUSH_MS));
    const source = await openRedisSource(config, (line) => log?.info({}, line));
    undo.push(() => source.stop());
    const onError = (error: unknown) => log?.error({ err: error }, "background work failed");
    const replicas = { count: config.redis.waitReplicas, timeoutMs: config.redis.waitMilliseconds };
    const redis = await connectRedis({ target: source.target, replicas, onError });
    undo.push(() => redis.close());
    const persistent = await isPersistent(redis);
    const durable = persistent || config.redis.persistence === "accept-loss";
    if (!durable) log?.warn({}, "Redis keeps no append-only file: not ready (see redis.persistence)");

    let listener: Listener | undefined;
    const publicUrl = () => (config.publicUrl ?? listener?.url ?? "").replace(/\/+$/, "");
    const box = await openSecretBox(config, source.embedded);
    if (box === undefined && config.push.enabled === undefined) {
      log?.warn({}, "push notifications are off: push.secretKey is needed with a Redis that is not embedded");
    }
    let ownListeners: { readonly address: string; readonly port: number }[] = [];
    const push =
      box === undefined
        ? undefined
        : createPush({
            config,
            redis,
            target: source.target,
            box,
            printers: pushPrinters,
            ownListeners: () => ownListeners,
            tracer,
            ...(log === undefined ? {} : { log }),
          });
    if (push !== undefined) undo.push(() => push.stop());
    let draining = false;
    const readiness = async (): Promise<readonly string[]> => {
      if (draining) return ["shutting down"];
      if (!durable) return ["Redis keeps no append-only file"];
      const answer = await Promise.race([redis.run("baton:", ["PING"]).catch(() => null), after(1000)]);
      if (answer === null) return ["Redis does not answer"];
      return (await push?.problems()) ?? [];
    };
    const openStreams = () => core.streams.size;
    const telemetry = createTelemetry({ config, redis, push, log, openStreams, readiness, onError });
    const { observe, metrics } = telemetry;
    const onSweep = metrics?.observeSweep;
    const redisKind = source.target.kind;
    const core = await createCore({
      config,
      redis,
      redisKind,
      adminToken,
      push,
      publicUrl,
      onError,
      observe,
      onSweep,
      tracer,
    });
    undo.push(() => core.stop());
    for (const exception of core.exceptions) log?.warn({}, exception);

    const { dispatcher, adminDispatcher } = core;
    const maxBodyBytes = config.limits.bodyBytes;
    const stallMs = config.streams.stallSeconds * 1000;
    const sse = { ...DEFAULT_SSE, keepAliveMs: config.streams.keepAliveSeconds * 1000, stallMs };
    const reserved = new Set<string>(RESERVED_AGENT_NAMES);
    const shutdown = new AbortController();
    const health = createHealth();
    for (const service of dispatcher.services) health.set(service.typeName, "SERVING");
    const plainServices = [health.routes, createReflection({ services: dispatcher.services })];
    const connect = {
      readMaxBytes: maxBodyBytes,
      stallMs,
      shutdown: shutdown.signal,
      ...(log === undefined ? {} : { log }),
    };
    const answered = (error: BatonError) => {
      if (error.kind === "Internal") log?.error({ err: error.cause ?? error }, "a call failed");
    };
    const forwarded = new Forwarded(config.listen.trustedProxies);
    listener = await startListener({
      host: config.listen.host,
      port: config.listen.port,
      handlers: [
        (request) => {
          forwarded.note(request);
          return false;
        },
        ...(config.listen.cors === undefined ? [] : [createCorsHandler(config.listen.cors)]),
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
        createRestHandler({
          dispatcher,
          service: A2AService,
          moreRoutes: v03Routes(),
          maxBodyBytes,
          sse,
          onError: answered,
        }),
        createJsonRpcHandler({
          dispatcher,
          service: A2AService,
          moreBindings: v03Bindings(),
          reserved,
          maxBodyBytes,
          earlyStreamErrors: config.streams.earlyErrors,
          sse,
          onError: answered,
        }),
      ],
      streamHandlers: config.listen.leanGrpc
        ? [createGrpcHandler({ ...connect, dispatcher, forwarded, baseHeaders: SECURITY_HEADERS })]
        : [],
      ...(tls === undefined ? {} : { tls }),
      ...(log === undefined ? {} : { log }),
    });
    const main = listener;
    undo.push(() => main.close());
    const admin = await startListener({
      host: config.admin.host,
      port: config.admin.port,
      handlers: [
        createProbeHandler(readiness),
        ...(metrics === undefined ? [] : [createMetricsHandler(metrics)]),
        ...(config.admin.console ? [createConsoleHandler()] : []),
        createConnectHandler({ ...connect, dispatcher: adminDispatcher }),
      ],
      ...(log === undefined ? {} : { log }),
    });
    undo.push(() => admin.close());
    ownListeners = [
      { address: config.listen.host, port: main.port },
      { address: config.admin.host, port: admin.port },
    ].flatMap(({ address, port }) => (isIP(address) === 0 ? ownNames(port) : [{ address, port }]));
    await push?.start();
    const startedAt = Date.now();
    await core.replicas.start(async () => ({
      host: hostname(),
      version: programVersion(),
      startedAt,
      openStreams: core.streams.size,
      connections: main.connections,
      ready: (await readiness()).length === 0,
    }));

    let stopping: Promise<void> | undefined;
    return {
      url: main.url,
      port: main.port,
      adminUrl: admin.url,
      ...(config.admin.console ? { consoleUrl: `${admin.url}${CONSOLE_PATH}` } : {}),
      adminToken,
      get openStreams() {
        return core.streams.size;
      },
      lost: source.lost,
      stop(graceMs = DEFAULT_GRACE_MS) {
        stopping ??= (async () => {
          draining = true;
          health.shutdown();
          shutdown.abort();
          core.streams.drain();
          await main.drain(graceMs);
          await undoAll();
        })();
        return stopping;
      },
    };
  } catch (error) {
    await undoAll();
    throw error;
  }
}

/** A host name to listen on may stand for any address of this machine. */
function ownNames(port: number): { readonly address: string; readonly port: number }[] {
  return [
    { address: "0.0.0.0", port },
    { address: "::", port },
  ];
}

/** What files and policies say is looked at before anything is started; all faults are told at once. */
function checkedTls(config: Config): TlsMaterial | undefined {
  const { tls } = config.listen;
  const files = tls === undefined ? { problems: [] } : readTlsFiles(tls);
  const problems = [...files.problems, ...egressProblems(config)];
  if (problems.length > 0) throw new ConfigError("configuration", problems);
  return files.material;
}

function after(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(resolve, ms, null).unref());
}
