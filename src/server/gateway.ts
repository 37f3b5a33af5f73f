import { isIP } from "node:net";
import { hostname } from "node:os";
import { ConfigError } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { createPush } from "../push/push.ts";
import { openSecretBox } from "../push/secret-key.ts";
import { connectRedis } from "../store/connect-redis.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { createConnectHandler } from "../transports/connect.ts";
import type { HttpHandler } from "../transports/http-handler.ts";
import { resolveAdminToken } from "./admin-token.ts";
import { type Callers, startCallers } from "./callers.ts";
import { CONSOLE_PATH, createConsoleHandler } from "./console.ts";
import { createCore } from "./core.ts";
import { egressProblems } from "./egress-settings.ts";
import { startListener, type TlsMaterial } from "./listener.ts";
import type { ServerLog } from "./log.ts";
import { createProbeHandler } from "./probes.ts";
import { pushPrinters } from "./push-printers.ts";
import { createReadiness, nameOfRedis } from "./readiness.ts";
import { embeddedElsewhere, isPersistent, openRedisSource } from "./redis-source.ts";
import { createMetricsHandler, createTelemetry } from "./telemetry.ts";
import { readTlsFiles } from "./tls-files.ts";
import { FLUSH_MS, openTracer } from "./tracing.ts";
import { programVersion } from "./version.ts";
import type { Siblings } from "./workers/siblings.ts";

export interface GatewayOptions {
  /** Told the base URL of the admin port as soon as probes are answered there, before Redis is. */
  readonly onAdmin?: (url: string) => void;
  readonly log?: ServerLog & { info(fields: object, message: string): void };
  /** The other processes of this gateway, where it has several. */
  readonly siblings?: Siblings;
}

/** A running gateway. */
export interface Gateway {
  /** Base URL of every binding and of the worker service; empty in a process without the role `gateway`. */
  readonly url: string;
  /** Its port; 0 in a process without the role `gateway`. */
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
   * Lets go: readiness fails; for `drain.delaySeconds` everything is served on, while balancers learn of it; then streams
   * end so that clients subscribe elsewhere, and calls in flight finish, at most `graceMs` (design.md section 8). Then
   * everything is closed.
   */
  stop(graceMs?: number): Promise<void>;
}

const DEFAULT_GRACE_MS = 10_000;

/** Starts a gateway; rejects with everything that it had begun undone. */
export async function startGateway(config: Config, options: GatewayOptions = {}): Promise<Gateway> {
  const { log, siblings } = options;
  const { reusePort = false, embeddedSocket } = siblings?.orders ?? {};
  const undo: (() => Promise<void>)[] = [];
  const undoAll = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const tls = checkedTls(config);
  try {
    const adminToken = await resolveAdminToken(config);
    const readiness = createReadiness(nameOfRedis(config.redis));
    let counted: Metrics | undefined;
    siblings?.serve({
      readiness: readiness.reasons,
      metrics: async () => (await counted?.snapshot()) ?? null,
    });
    // Open before anything else is there: probes and people are told what is waited for. More handlers follow.
    const adminHandlers: HttpHandler[] = [
      createProbeHandler(siblings === undefined ? readiness.reasons : () => siblings.readiness()),
    ];
    const admin = await startListener({
      host: config.admin.host,
      port: config.admin.port,
      reusePort,
      handlers: adminHandlers,
      ...(log === undefined ? {} : { log }),
    });
    undo.push(() => admin.close());
    options.onAdmin?.(admin.url);
    const tracer = await openTracer(config, log);
    // Undone last: what is still to happen makes spans.
    if (tracer !== undefined) undo.push(() => tracer.stop(FLUSH_MS));
    const source =
      embeddedSocket === undefined
        ? await openRedisSource(config, (line) => log?.info({}, line))
        : embeddedElsewhere(embeddedSocket);
    undo.push(() => source.stop());
    const onError = (error: unknown) => log?.error({ err: error }, "background work failed");
    const replicas = { count: config.redis.waitReplicas, timeoutMs: config.redis.waitMilliseconds };
    const onRedisError = (error: unknown) => {
      readiness.failed(error);
      onError(error);
    };
    const redis = await connectRedis({ target: source.target, replicas, onError: onRedisError });
    undo.push(() => redis.close());
    const persistent = await isPersistent(redis);
    const durable = persistent || config.redis.persistence === "accept-loss";
    if (!durable) log?.warn({}, "Redis keeps no append-only file: not ready (see redis.persistence)");

    let callers: Callers | undefined;
    const publicUrl = () => (config.publicUrl ?? callers?.url ?? "").replace(/\/+$/, "");
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
    readiness.begin({ redis, durable, pushProblems: async () => (await push?.problems()) ?? [] });
    const openStreams = () => core.streams.size;
    const telemetry = createTelemetry({
      config,
      redis,
      push,
      log,
      openStreams,
      followers: () => core.openwop.followers(),
      readiness: readiness.reasons,
      onError,
    });
    const { observe, metrics } = telemetry;
    counted = metrics;
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

    const { roles } = config;
    const serves = roles.includes("gateway");
    const connect = {
      readMaxBytes: config.limits.bodyBytes,
      stallMs: config.streams.stallSeconds * 1000,
      ...(log === undefined ? {} : { log }),
    };
    adminHandlers.push(
      ...(metrics === undefined ? [] : [createMetricsHandler(metrics, siblings)]),
      ...(config.admin.console ? [createConsoleHandler()] : []),
      createConnectHandler({ ...connect, dispatcher: core.adminDispatcher }),
    );
    if (serves) callers = await startCallers({ config, core, push, publicUrl, tls, log, connect, reusePort });
    const main = callers;
    if (main !== undefined) undo.push(() => main.close());
    ownListeners = [
      { address: config.listen.host, port: main?.port ?? config.listen.port },
      { address: config.admin.host, port: admin.port },
    ].flatMap(({ address, port }) => (isIP(address) === 0 ? ownNames(port) : [{ address, port }]));
    if (roles.includes("push")) await push?.start();
    readiness.started();
    const startedAt = Date.now();
    await core.replicas.start(async () => ({
      host: hostname(),
      version: programVersion(),
      startedAt,
      openStreams: core.streams.size,
      connections: main?.connections ?? 0,
      ready: (await readiness.reasons()).length === 0,
    }));

    let stopping: Promise<void> | undefined;
    return {
      url: main?.url ?? "",
      port: main?.port ?? 0,
      adminUrl: admin.url,
      ...(config.admin.console ? { consoleUrl: `${admin.url}${CONSOLE_PATH}` } : {}),
      adminToken,
      get openStreams() {
        return core.streams.size;
      },
      lost: source.lost,
      stop(graceMs = DEFAULT_GRACE_MS) {
        stopping ??= (async () => {
          readiness.drain();
          await main?.drain({ delayMs: config.drain.delaySeconds * 1000, graceMs });
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
  // Where another process serves callers, this one need not have the files.
  const tls = config.roles.includes("gateway") ? config.listen.tls : undefined;
  const files = tls === undefined ? { problems: [] } : readTlsFiles(tls);
  const problems = [...files.problems, ...egressProblems(config)];
  if (problems.length > 0) throw new ConfigError("configuration", problems);
  return files.material;
}
