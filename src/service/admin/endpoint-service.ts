import { create } from "@bufbuild/protobuf";
import {
  type Duration,
  durationFromMs,
  durationMs,
  timestampFromMs,
  timestampMs,
} from "@bufbuild/protobuf/wkt";
import {
  CreateEndpointResponseSchema,
  DeleteEndpointResponseSchema,
  type Endpoint,
  EndpointSchema,
  type EndpointService,
  EndpointState,
  GetEndpointResponseSchema,
  ListEndpointsResponseSchema,
  RevokeEndpointResponseSchema,
  UpdateEndpointResponseSchema,
} from "../../../gen/baton/admin/v1/endpoint_pb.js";
import { isVerb, VERBS, type Verb } from "../../domain/caller.ts";
import { BatonError, type FieldViolation, invalidParams } from "../../domain/errors.ts";
import { isPerson, mayManage } from "../../identity/operators.ts";
import type { EndpointRecord } from "../../store/endpoint-records.ts";
import type { EndpointStore } from "../../store/endpoints.ts";
import type { AgentDirectory } from "../agents.ts";
import type { Call, Handlers } from "../call.ts";
import type { EndpointEnding } from "./endpoint-ending.ts";

export interface EndpointServiceOptions {
  readonly endpoints: EndpointStore;
  readonly ending: EndpointEnding;
  readonly agents: AgentDirectory;
  /** Told at once of an endpoint that changed. */
  onChanged(endpointId: string): void;
}

const MAX_NAME = 128;
const LEASE_SECONDS = { min: 60, max: 86_400 } as const;

/** Vending and revoking endpoints; see baton/admin/v1/endpoint.proto for each call. */
export function createEndpointService(options: EndpointServiceOptions): Handlers<typeof EndpointService> {
  const { endpoints, agents, ending } = options;

  /** Somebody else's endpoint is answered as one that does not exist (SB-60). */
  async function existing(id: string, call: Call): Promise<EndpointRecord> {
    const record = id === "" ? undefined : await endpoints.get(id);
    if (record === undefined || !mayManage(call.caller, record.owner)) throw endpointNotFound();
    return record;
  }

  return {
    async createEndpoint(request, call) {
      const agent = request.agent || agents.defaultAgent;
      const violations: FieldViolation[] = [];
      if (!agents.has(agent))
        violations.push({ field: "agent", description: "names no agent of this gateway" });
      if (request.name.trim() === "" || request.name.length > MAX_NAME) {
        violations.push({ field: "name", description: `must have 1 to ${MAX_NAME} characters` });
      }
      const queues = [...new Set(request.scope?.queues ?? [])];
      const verbs = [...new Set(request.scope?.verbs ?? [])];
      if (queues.length === 0)
        violations.push({ field: "scope.queues", description: "must hold at least one queue" });
      if (verbs.length === 0)
        violations.push({ field: "scope.verbs", description: "must hold at least one verb" });
      if (agents.has(agent)) {
        for (const queue of queues.filter((name) => !agents.get(agent).config.queues.includes(name))) {
          violations.push({ field: "scope.queues", description: `${queue} is not a queue of the agent` });
        }
      }
      if (agents.has(agent)) {
        const grantable: readonly string[] = agents.get(agent).config.verbs;
        for (const verb of verbs.filter((text) => isVerb(text) && !grantable.includes(text))) {
          violations.push({ field: "scope.verbs", description: `${verb} is not granted by the agent` });
        }
      }
      for (const verb of verbs.filter((text) => !isVerb(text))) {
        violations.push({ field: "scope.verbs", description: `${verb} is not one of ${VERBS.join(", ")}` });
      }
      const expiresAt = request.expiresAt === undefined ? undefined : timestampMs(request.expiresAt);
      if (expiresAt !== undefined && expiresAt <= Date.now()) {
        violations.push({ field: "expiresAt", description: "must lie in the future" });
      }
      violations.push(...leaseViolations(request.defaultLease, false));
      const owner = request.owner || (isPerson(call.caller) ? call.caller.name : "operator");
      if (!mayManage(call.caller, owner)) {
        violations.push({ field: "owner", description: "must be yourself" });
      }
      if (agents.has(agent) && !mayManage(call.caller, agents.get(agent).config.owner)) {
        violations.push({ field: "agent", description: "names no agent of yours" });
      }
      if (violations.length > 0) throw invalidParams(...violations);
      const { record, credential } = await endpoints.create({
        name: request.name.trim(),
        agent,
        owner,
        queues,
        verbs: verbs.filter((text): text is Verb => isVerb(text)),
        streaming: request.scope?.streaming ?? false,
        push: request.scope?.push ?? false,
        expiresAt,
        defaultLeaseSeconds: secondsOf(request.defaultLease),
        friend: undefined,
      });
      return create(CreateEndpointResponseSchema, { endpoint: endpointView(record), credential });
    },

    async getEndpoint(request, call) {
      const record = await existing(request.id, call);
      return create(GetEndpointResponseSchema, { endpoint: endpointView(record) });
    },

    async listEndpoints(request, call) {
      const records = (await endpoints.list()).filter(
        (record) =>
          mayManage(call.caller, record.owner) &&
          (request.agent === "" || record.agent === request.agent) &&
          (request.includeRevoked || !hasEnded(record)),
      );
      return create(ListEndpointsResponseSchema, { endpoints: records.map(endpointView) });
    },

    async updateEndpoint(request, call) {
      const record = await existing(request.id, call);
      const violations = leaseViolations(request.defaultLease, true);
      if (request.name.length > MAX_NAME) {
        violations.push({ field: "name", description: `must have at most ${MAX_NAME} characters` });
      }
      if (violations.length > 0) throw invalidParams(...violations);
      const defaultLeaseSeconds = secondsOf(request.defaultLease);
      await endpoints.update(record.id, {
        ...(request.name.trim() === "" ? {} : { name: request.name.trim() }),
        ...(defaultLeaseSeconds === undefined ? {} : { defaultLeaseSeconds }),
      });
      options.onChanged(record.id);
      const changed = await existing(record.id, call);
      return create(UpdateEndpointResponseSchema, { endpoint: endpointView(changed) });
    },

    async revokeEndpoint(request, call) {
      const record = await existing(request.id, call);
      const deadLettered = await ending.revoke(record, call.caller.name);
      if (deadLettered === undefined) throw endpointNotFound();
      return create(RevokeEndpointResponseSchema, {
        endpoint: endpointView(await existing(record.id, call)),
        deadLettered,
      });
    },

    async deleteEndpoint(request, call) {
      const record = await existing(request.id, call);
      if (record.revokedAt === undefined) {
        throw new BatonError("Conflict", "only a revoked endpoint can be deleted; revoke it first");
      }
      await endpoints.delete(record.id);
      return create(DeleteEndpointResponseSchema, {});
    },
  };
}

function endpointNotFound(): BatonError {
  return new BatonError("NotFound", "endpoint not found");
}

function leaseViolations(lease: Duration | undefined, zeroClears: boolean): FieldViolation[] {
  const seconds = secondsOf(lease);
  if (seconds === undefined || (zeroClears && seconds === 0)) return [];
  if (seconds >= LEASE_SECONDS.min && seconds <= LEASE_SECONDS.max) return [];
  return [{ field: "defaultLease", description: `must be ${LEASE_SECONDS.min} s to ${LEASE_SECONDS.max} s` }];
}

function secondsOf(duration: Duration | undefined): number | undefined {
  return duration === undefined ? undefined : durationMs(duration) / 1000;
}

function hasEnded(record: EndpointRecord): boolean {
  return record.revokedAt !== undefined || (record.expiresAt !== undefined && record.expiresAt <= Date.now());
}

/** An endpoint as an operator sees it; there is nothing secret in it. */
function endpointView(record: EndpointRecord): Endpoint {
  const time = (ms: number | undefined) => (ms === undefined ? undefined : timestampFromMs(ms));
  const optional = {
    expiresAt: time(record.expiresAt),
    revokedAt: time(record.revokedAt),
    lastSeenAt: time(record.lastSeenAt),
    defaultLease:
      record.defaultLeaseSeconds === undefined
        ? undefined
        : durationFromMs(record.defaultLeaseSeconds * 1000),
  };
  return create(EndpointSchema, {
    id: record.id,
    name: record.name,
    agent: record.agent,
    scope: {
      queues: [...record.queues],
      verbs: [...record.verbs],
      streaming: record.streaming,
      push: record.push,
    },
    state: hasEnded(record) ? EndpointState.REVOKED : EndpointState.ACTIVE,
    credentialPrefix: record.prefix,
    owner: record.owner,
    createdAt: timestampFromMs(record.createdAt),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  });
}
