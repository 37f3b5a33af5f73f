/** Puts the parts of a gateway together: stores, back ends, services, dispatchers. No sockets here. */
import { A2AService as A2AServiceV03 } from "../../gen/a2a/v1/a2a_pb.js";
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import { A2AService, type AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { startSweeper } from "../backends/todo/sweeper.ts";
import { TodoBackend } from "../backends/todo/todo-backend.ts";
import type { Config } from "../config/schema.ts";
import { EndpointAuthenticator } from "../identity/authenticate.ts";
import type { Push } from "../push/push.ts";
import { createA2AService } from "../service/a2a.ts";
import { Admission, type AdmissionLimits } from "../service/admission.ts";
import { AgentDirectory } from "../service/agents.ts";
import { cardExtensions } from "../service/card.ts";
import { CardDirectory } from "../service/card-directory.ts";
import { loadSigningKeys } from "../service/card-keys.ts";
import { Dispatcher } from "../service/dispatcher.ts";
import { OpenStreams } from "../service/open-streams.ts";
import { createPushConfigHandlers } from "../service/push-configs.ts";
import { createWorkerService } from "../service/worker/worker-service.ts";
import { AdminAuditStore } from "../store/admin-audit.ts";
import type { RedisConnection, RedisTarget } from "../store/connection.ts";
import { type EndNotice, EndpointStore } from "../store/endpoints.ts";
import { QueueBells } from "../store/queue-bell.ts";
import { Replicas } from "../store/replicas.ts";
import { StreamSlots } from "../store/stream-slots.ts";
import { TaskFeed } from "../store/task-feed.ts";
import { TaskStore } from "../store/tasks.ts";
import { TodoStore } from "../store/todos.ts";
import { TokenBuckets } from "../store/token-buckets.ts";
import type { CallObserver } from "../telemetry/calls.ts";
import type { SweepRound } from "../telemetry/metrics.ts";
import type { Tracer } from "../telemetry/tracing/span.ts";
import type { HttpHandler } from "../transports/http-handler.ts";
import type { McpServices } from "../transports/mcp/services.ts";
import { createV03Service } from "../transports/v03/grpc/service.ts";
import { printCard } from "../transports/v03/translate/kind/card.ts";
import { createMcpServices } from "./mcp-services.ts";
import { createOnboarding } from "./onboarding.ts";
import { createOpenWopAgents, type OpenWopAgents } from "./openwop-agents.ts";
import { registerOperations } from "./operations.ts";
import { pageTokenSecret } from "./page-token-secret.ts";

export interface CoreOptions {
  readonly config: Config;
  readonly redis: RedisConnection;
  readonly redisKind: RedisTarget["kind"];
  readonly adminToken: string;
  /** Absent: push is not offered. */
  readonly push: Push | undefined;
  /** Base of the addresses in cards; known once the listener is. */
  publicUrl(): string;
  onError(error: unknown): void;
  /** Told of calls and of housekeeping. */
  readonly observe?: CallObserver | undefined;
  readonly onSweep?: ((round: SweepRound) => void) | undefined;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

export interface Core {
  /** The A2A and worker services, for callers. */
  readonly dispatcher: Dispatcher;
  /** The admin services, for the operator. */
  readonly adminDispatcher: Dispatcher;
  readonly streams: OpenStreams;
  /** Those that are alive; this one tells of itself once it is started. */
  readonly replicas: Replicas;
  readonly feed: TaskFeed;
  readonly agents: AgentDirectory;
  readonly openwop: OpenWopAgents;
  /** What the MCP door stands on. */
  readonly mcp: McpServices;
  /** Takes friend requests, on the listener of callers. */
  readonly friendRequests: HttpHandler;
  /** What the operator opened in a guard, for the log. */
  readonly exceptions: readonly string[];
  readonly cards: CardDirectory;
  /** The card of an agent, or of the default agent for an empty name. `base`: of its addresses, where not configured. */
  cardOf(name: string, base?: string): AgentCard | undefined;
  stop(): Promise<void>;
}

export async function createCore(options: CoreOptions): Promise<Core> {
  const { config, redis, push } = options;
  const todos = new TodoStore(redis, {
    keepAttempts: config.retries.keepAttempts,
    taskBytes: config.limits.taskBytes,
  });
  const tasks = new TaskStore(redis);
  const endpoints = new EndpointStore(redis);
  const feed = new TaskFeed(redis, { onError: options.onError });
  const bells = new QueueBells(redis);
  const streams = new OpenStreams();
  const todoBackend = new TodoBackend(todos, { maxAttempts: config.retries.maxAttempts });
  const openwop = createOpenWopAgents({ config, redis, tasks, onError: options.onError });
  const agents = new AgentDirectory(
    Object.entries(config.agents).map(([name, agent]) => ({
      name,
      config: agent,
      backend: openwop.backendOf(name) ?? todoBackend,
    })),
    config.defaultAgent,
  );

  const authenticator = new EndpointAuthenticator(endpoints);
  const ended = (id: string, notice: EndNotice): void => {
    authenticator.forget(id);
    if (notice === "ended") streams.endOf(id);
  };
  await endpoints.onRevoked(ended);
  redis.onSubscriberReconnect(() => authenticator.forgetAll());

  const admission = new Admission(new TokenBuckets(redis), admissionLimits(config));
  const extensions = new Map(
    agents.all.map(({ name, config: own }) => [name, cardExtensions(own, { push: push !== undefined })]),
  );
  const dispatcher = new Dispatcher({
    authenticate(meta) {
      const admitted = admission.address(meta);
      if (admitted === undefined) return authenticator.authenticate(meta);
      return admitted.then(() => authenticator.authenticate(meta));
    },
    admit: (call, method) => admission.call(call, method),
    hasAgent: (name) => agents.has(name),
    versions: ["1.0", "0.3"],
    // What is advertised before a host of major 2 is all that is served there (OW-9).
    versionsOf: (agent) => (openwop.linkOf(agent)?.config.major === 2 ? ["1.0"] : undefined),
    onNegotiated: openwop.onNegotiated,
    strictVersions: config.versions.strict,
    errorTable: (name) => agents.get(name).config.errorTable,
    extensions: (name) => extensions.get(name) ?? [],
    observe: options.observe,
    tracer: options.tracer,
  });
  const streamBuffer = config.streams.buffer;
  const tokenSecret = await pageTokenSecret(redis);
  const cards = new CardDirectory({
    agents,
    config,
    push: push !== undefined,
    keys: loadSigningKeys(config.cards.signing, process.env),
    print: printCard,
    publicUrl: options.publicUrl,
  });
  const a2aService = createA2AService({
    extendedCard: (call) => cards.extended(call),
    agents,
    tasks,
    feed,
    streams,
    slots: new StreamSlots(redis, config.streams.perEndpoint, options.onError),
    push: createPushConfigHandlers({ push, agents, tasks, pageTokenSecret: tokenSecret }),
    pageTokenSecret: tokenSecret,
    maxWaitMs: config.send.maxWaitSeconds * 1000,
    streamBuffer,
    endOnInputRequired: config.streams.endOnInputRequired,
  });
  dispatcher.register(A2AService, a2aService, { a2a: true });
  dispatcher.register(A2AServiceV03, createV03Service(a2aService), { a2a: true, ownChecks: true });
  const worker = createWorkerService({
    todos,
    feed,
    bells,
    streams,
    defaultLeaseMs: config.leases.defaultSeconds * 1000,
    retry: {
      baseMs: config.retries.baseSeconds * 1000,
      capMs: config.retries.capSeconds * 1000,
      jitter: config.retries.jitter,
    },
    streamBuffer,
  });
  dispatcher.register(WorkerService, worker, { a2a: false, ownChecks: true });
  const mcp = createMcpServices({
    config,
    redis,
    todos,
    tasks,
    endpoints,
    bells,
    streams,
    agents,
    backend: todoBackend,
    worker,
    admission,
    dispatcher,
    onChanged: (id) => authenticator.forget(id),
    onError: options.onError,
    tracer: options.tracer,
  });

  const audit = new AdminAuditStore(redis);
  const replicas = new Replicas(redis, options.onError);
  const onboarding = createOnboarding({
    config,
    redis,
    audit,
    adminToken: options.adminToken,
    agents,
    endpoints,
    todos,
    streams,
    publicUrl: options.publicUrl,
    onChanged: (id) => authenticator.forget(id),
    onEnded: ended,
    onError: options.onError,
    observe: options.observe,
    tracer: options.tracer,
  });
  const { adminDispatcher } = onboarding;
  registerOperations(adminDispatcher, {
    config,
    redis,
    redisKind: options.redisKind,
    agents,
    endpoints,
    todos,
    push,
    audit,
    replicas,
    pageTokenSecret: tokenSecret,
  });

  const sweeper = startSweeper(todos, {
    agents: agents.all.filter((agent) => config.roles.includes("sweeper") && agent.config.backend === "todo"),
    intervalMs: config.leases.sweepSeconds * 1000,
    interruptLimitMs: config.interrupts.limitSeconds * 1000,
    retentionMs: config.retention.terminalSeconds * 1000,
    maxEnded: config.retention.maxTasks,
    onError: options.onError,
    ...(options.onSweep === undefined ? {} : { onRound: options.onSweep }),
  });

  if (config.roles.includes("followers")) openwop.start();

  return {
    dispatcher,
    adminDispatcher,
    streams,
    replicas,
    feed,
    agents,
    openwop,
    mcp,
    cards,
    cardOf: (name, base) => cards.plain(name, base),
    friendRequests: onboarding.handler,
    exceptions: onboarding.exceptions,
    async stop() {
      await replicas.stop();
      await sweeper.stop();
      await onboarding.stop();
      await openwop.stop();
      feed.close();
    },
  };
}

/** Limits on all calls are counted in small batches, to save round trips; sends in smaller ones. */
function admissionLimits(config: Config): AdmissionLimits {
  const { perAddress, perEndpoint, send } = config.limits;
  const batch = (burst: number, share = 16) => Math.min(500, Math.max(1, Math.floor(burst / share)));
  return {
    perAddress: { name: "address", ...perAddress, batch: batch(perAddress.burst) },
    perEndpoint: { name: "endpoint", ...perEndpoint, batch: batch(perEndpoint.burst) },
    send: { name: "send", ...send, batch: batch(send.burst, 64) },
  };
}
