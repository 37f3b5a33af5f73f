/** Puts together what vends, ends and asks for access: the admin services for it, friend requests, the endpoint sweep. */
import { EndpointService } from "../../gen/baton/admin/v1/endpoint_pb.js";
import { GrantService } from "../../gen/baton/admin/v1/grant_pb.js";
import type { Config } from "../config/schema.ts";
import { BatonError } from "../domain/errors.ts";
import { IdTokens } from "../identity/id-tokens.ts";
import { createOperatorAuthenticator, isPerson } from "../identity/operators.ts";
import { EndpointEnding, startEndpointSweep } from "../service/admin/endpoint-ending.ts";
import { createEndpointService } from "../service/admin/endpoint-service.ts";
import { createGrantService } from "../service/admin/grant-service.ts";
import { createJournal } from "../service/admin/journal.ts";
import type { AgentDirectory } from "../service/agents.ts";
import { Dispatcher } from "../service/dispatcher.ts";
import { FriendRequests } from "../service/friend-requests.ts";
import type { OpenStreams } from "../service/open-streams.ts";
import type { AdminAuditStore } from "../store/admin-audit.ts";
import type { RedisConnection } from "../store/connection.ts";
import type { EndNotice, EndpointStore } from "../store/endpoints.ts";
import { GrantStore } from "../store/grants.ts";
import { PushConfigStore } from "../store/push-configs.ts";
import type { TodoStore } from "../store/todos.ts";
import { type BucketLimit, TokenBuckets } from "../store/token-buckets.ts";
import type { CallObserver } from "../telemetry/calls.ts";
import type { Tracer } from "../telemetry/tracing/span.ts";
import { createFriendRequestHandler } from "../transports/friend-requests.ts";
import type { HttpHandler } from "../transports/http-handler.ts";

export interface OnboardingOptions {
  readonly config: Config;
  readonly redis: RedisConnection;
  readonly adminToken: string;
  readonly agents: AgentDirectory;
  readonly endpoints: EndpointStore;
  readonly todos: TodoStore;
  readonly streams: OpenStreams;
  /** Where it is written down what operators do. */
  readonly audit: AdminAuditStore;
  publicUrl(): string;
  /** An endpoint changed: what is cached of it is old. */
  onChanged(endpointId: string): void;
  onEnded(endpointId: string, notice: EndNotice): void;
  onError(error: unknown): void;
  readonly observe?: CallObserver | undefined;
  readonly tracer?: Tracer | undefined;
}

export interface Onboarding {
  /** For operators, with the endpoint and grant services registered. */
  readonly adminDispatcher: Dispatcher;
  readonly handler: HttpHandler;
  /** What the operator opened in the guard of the way to the issuers, one sentence each. */
  readonly exceptions: readonly string[];
  stop(): Promise<void>;
}

/** Services that a named person may use beside the operator: those that know whose is whose. */
const FOR_PEOPLE: ReadonlySet<string> = new Set([EndpointService.typeName, GrantService.typeName]);

/** What a person may do that is written down, refused or not: more than work asks for, and two weeks to fill the journal. */
const PERSON_ACTIONS: BucketLimit = { name: "person", perSecond: 300 / 3600, burst: 300, batch: 1 };

export function createOnboarding(options: OnboardingOptions): Onboarding {
  const { config, redis, agents, endpoints, todos, onError } = options;
  const { grantableVerbs, quota, pickupSeconds, perAddress } = config.onboarding;
  const idTokens = new IdTokens(config.identity);
  const grants = new GrantStore(redis);
  // Only to end configs: what it keeps of ended tasks does not matter here.
  const pushConfigs = new PushConfigStore(redis, { keepMs: 0 });
  const ending = new EndpointEnding({ endpoints, grants, todos, pushConfigs, onEnded: options.onEnded });
  options.streams.whenExpired((id) => {
    ending.expire(id).catch(onError);
  });

  const buckets = new TokenBuckets(redis);
  const adminDispatcher = new Dispatcher({
    authenticate: createOperatorAuthenticator(options.adminToken, config.admin, idTokens),
    async admit({ caller }, method) {
      if (isPerson(caller) && !FOR_PEOPLE.has(method.parent.typeName)) {
        throw new BatonError("Forbidden", "this needs the admin credential");
      }
    },
    hasAgent: () => false,
    versions: [],
    strictVersions: false,
    around: createJournal(options.audit, {
      onError,
      charge: async (caller) => (isPerson(caller) ? buckets.take(PERSON_ACTIONS, caller.id) : 0),
    }),
    observe: options.observe,
    tracer: options.tracer,
  });
  adminDispatcher.register(
    EndpointService,
    createEndpointService({ endpoints, ending, agents, onChanged: options.onChanged }),
    { a2a: false },
  );
  adminDispatcher.register(
    GrantService,
    createGrantService({
      grants,
      endpoints,
      ending,
      agents,
      grantableVerbs,
      pickupMs: pickupSeconds * 1000,
    }),
    { a2a: false },
  );

  const handler = createFriendRequestHandler({
    requests: new FriendRequests({
      grants,
      endpoints,
      agents,
      idTokens,
      grantableVerbs,
      quota,
      publicUrl: options.publicUrl,
    }),
    admit: (address) => buckets.take({ name: "friend", ...perAddress, batch: 1 }, address),
    onError(error) {
      if (error.code === "internal") onError(error.cause ?? error);
    },
  });

  const intervalMs = config.leases.sweepSeconds * 1000;
  // Housekeeping, like that of the queues. What an operator ends is ended at once, by whoever is asked.
  const sweep = config.roles.includes("sweeper")
    ? startEndpointSweep(ending, { intervalMs, onError })
    : undefined;
  return {
    adminDispatcher,
    handler,
    exceptions: idTokens.exceptions.map((exception) => `identity: ${exception}`),
    async stop() {
      await sweep?.stop();
      await idTokens.close();
    },
  };
}
