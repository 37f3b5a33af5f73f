import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type ApproveGrantRequest,
  ApproveGrantResponseSchema,
  DeleteGrantResponseSchema,
  DenyGrantResponseSchema,
  GetGrantResponseSchema,
  type Grant,
  GrantSchema,
  type GrantService,
  GrantState,
  ListGrantsResponseSchema,
  ReissuePickupResponseSchema,
  RevokeGrantResponseSchema,
} from "../../../gen/baton/admin/v1/grant_pb.js";
import { isVerb } from "../../domain/caller.ts";
import { BatonError, type FieldViolation, invalidParams } from "../../domain/errors.ts";
import {
  FRIEND_VERBS,
  type GrantScope,
  type GrantState as State,
  widening,
} from "../../domain/friendship.ts";
import { mayManage } from "../../identity/operators.ts";
import type { EndpointStore } from "../../store/endpoints.ts";
import type { Change, GrantRecord, GrantStore } from "../../store/grants.ts";
import type { AgentDirectory } from "../agents.ts";
import type { Call, Handlers } from "../call.ts";
import type { EndpointEnding } from "./endpoint-ending.ts";

export interface GrantServiceOptions {
  readonly grants: GrantStore;
  readonly endpoints: EndpointStore;
  readonly ending: EndpointEnding;
  readonly agents: AgentDirectory;
  readonly pickupMs: number;
  /** What a friend may be granted at all (SB-63). */
  readonly grantableVerbs: readonly string[];
}

/** Deciding on friend requests; see baton/admin/v1/grant.proto for each call. */
export function createGrantService(options: GrantServiceOptions): Handlers<typeof GrantService> {
  const { grants, endpoints, ending, agents, pickupMs, grantableVerbs } = options;

  const ownerOf = ({ agent }: GrantRecord) =>
    agents.has(agent) ? agents.get(agent).config.owner : "operator";

  /** A request to somebody else's agent is answered as one that does not exist. */
  async function existing(id: string, call: Call): Promise<GrantRecord> {
    const grant = id === "" ? undefined : await grants.get(id);
    if (grant === undefined || !mayManage(call.caller, ownerOf(grant))) throw grantNotFound();
    return grant;
  }

  const after = async (id: string, call: Call) => grantView(await existing(id, call));

  return {
    async listGrants(request, call) {
      const states = new Set(request.states);
      const shown = (await grants.list()).filter(
        (grant) =>
          mayManage(call.caller, ownerOf(grant)) &&
          (request.agent === "" || grant.agent === request.agent) &&
          (states.size === 0 || states.has(STATES[grant.state])),
      );
      return create(ListGrantsResponseSchema, { grants: shown.map(grantView) });
    },

    async getGrant(request, call) {
      return create(GetGrantResponseSchema, { grant: await after(request.id, call) });
    },

    async approveGrant(request, call) {
      const grant = await existing(request.id, call);
      if (grant.state !== "pending") throw wrongState(grant.state);
      const granted = narrowed(request, grant.requested);
      const violations = scopeViolations(grant.requested, granted);
      const ungrantable = granted.verbs.find((verb) => !grantableVerbs.includes(verb));
      if (ungrantable !== undefined) {
        violations.push({ field: "verbs", description: `${ungrantable} is never granted to a friend` });
      }
      if (!agents.has(grant.agent)) throw new BatonError("Conflict", "the agent is no longer served");
      const { queues } = agents.get(grant.agent).config;
      const missing = granted.queues.find((queue) => !queues.includes(queue));
      if (missing !== undefined) {
        violations.push({ field: "queues", description: `${missing} is not a queue of the agent` });
      }
      const expiresAt = request.expiresAt === undefined ? undefined : timestampMs(request.expiresAt);
      if (expiresAt !== undefined && expiresAt <= Date.now()) {
        violations.push({ field: "expiresAt", description: "must lie in the future" });
      }
      if (violations.length > 0) throw invalidParams(...violations);
      // The endpoint goes first: without a credential it is good for nothing, so one left by a crash is harmless.
      const endpoint = await endpoints.createWithout({
        name: `friend ${grant.persona}`.slice(0, 128),
        agent: grant.agent,
        owner: ownerOf(grant),
        ...granted,
        expiresAt,
        defaultLeaseSeconds: undefined,
        friend: { grantId: grant.id, persona: grant.persona },
      });
      const approval = { granted, endpointId: endpoint.id, pickupMs };
      const change = await grants.approve(grant.id, approval, call.caller.name);
      if (change !== "ok") {
        await endpoints.delete(endpoint.id);
        await endpoints.ended(endpoint);
        throw refusal(change);
      }
      return create(ApproveGrantResponseSchema, { grant: await after(grant.id, call) });
    },

    async denyGrant(request, call) {
      const grant = await existing(request.id, call);
      requireOk(await grants.deny(grant.id, call.caller.name));
      return create(DenyGrantResponseSchema, { grant: await after(grant.id, call) });
    },

    async revokeGrant(request, call) {
      const grant = await existing(request.id, call);
      if (grant.state !== "approved") throw wrongState(grant.state);
      const endpoint = await endpoints.get(grant.endpointId);
      // Ending the endpoint ends the friendship too; where it has ended already, only the record is left.
      const deadLettered =
        endpoint === undefined ? undefined : await ending.revoke(endpoint, call.caller.name);
      if (deadLettered === undefined) await grants.revoke(grant.id, call.caller.name);
      return create(RevokeGrantResponseSchema, {
        grant: await after(grant.id, call),
        deadLettered: deadLettered ?? 0,
      });
    },

    async reissuePickup(request, call) {
      const grant = await existing(request.id, call);
      if (grant.state !== "approved") throw wrongState(grant.state);
      const { kind, pickupToken } = await grants.reissue(grant.id, pickupMs, call.caller.name);
      requireOk(kind);
      await endpoints.dropCredential(grant.endpointId);
      return create(ReissuePickupResponseSchema, { grant: await after(grant.id, call), pickupToken });
    },

    async deleteGrant(request, call) {
      const grant = await existing(request.id, call);
      requireOk(await grants.delete(grant.id, call.caller.name));
      return create(DeleteGrantResponseSchema, {});
    },
  };
}

/** What the operator wants to grant; both lists empty: all that was asked for (SB-62). */
function narrowed(request: ApproveGrantRequest, requested: GrantScope): GrantScope {
  const asAsked = request.queues.length === 0 && request.verbs.length === 0;
  return {
    queues: asAsked ? requested.queues : [...new Set(request.queues)],
    verbs: asAsked
      ? requested.verbs
      : // A word that is no verb at all is kept, and refused as more than was asked for.
        ([...new Set(request.verbs)] as GrantScope["verbs"]),
    streaming: requested.streaming && !request.withoutStreaming,
    push: requested.push && !request.withoutPush,
  };
}

function scopeViolations(requested: GrantScope, granted: GrantScope): FieldViolation[] {
  const violations: FieldViolation[] = [];
  if (granted.queues.length === 0) violations.push({ field: "queues", description: "must hold a queue" });
  if (granted.verbs.length === 0) violations.push({ field: "verbs", description: "must hold a verb" });
  const friendly: readonly string[] = FRIEND_VERBS;
  for (const verb of granted.verbs.filter((text) => !isVerb(text) || !friendly.includes(text))) {
    violations.push({ field: "verbs", description: `${verb} is never granted to a friend` });
  }
  const more = widening(requested, granted);
  if (more !== undefined) {
    const field = more.startsWith("queue") ? "queues" : "verbs";
    violations.push({ field, description: `${more} was not asked for` });
  }
  return violations;
}

function requireOk(change: Change): void {
  if (change !== "ok") throw refusal(change);
}

function refusal(change: Change): BatonError {
  return change === "notfound"
    ? grantNotFound()
    : new BatonError("Conflict", "the request is in another state");
}

function grantNotFound(): BatonError {
  return new BatonError("NotFound", "friend request not found");
}

function wrongState(state: State): BatonError {
  return new BatonError("Conflict", `the request is ${state}`);
}

const STATES = {
  pending: GrantState.PENDING,
  approved: GrantState.APPROVED,
  denied: GrantState.DENIED,
  revoked: GrantState.REVOKED,
} as const satisfies Record<State, GrantState>;

/** A friend request as an operator sees it; there is nothing secret in it. */
function grantView(grant: GrantRecord): Grant {
  const time = (ms: number | undefined) => (ms === undefined ? undefined : timestampFromMs(ms));
  const scope = ({ queues, verbs, streaming, push }: GrantScope) => ({
    queues: [...queues],
    verbs: [...verbs],
    streaming,
    push,
  });
  const optional = {
    granted: grant.granted === undefined ? undefined : scope(grant.granted),
    decidedAt: time(grant.decidedAt),
    revokedAt: time(grant.revokedAt),
    pickedUpAt: time(grant.pickedUpAt),
    pickupUntil: time(grant.pickupUntil),
  };
  return create(GrantSchema, {
    id: grant.id,
    agent: grant.agent,
    fromPersona: grant.persona,
    fromHuman: grant.human,
    reason: grant.reason,
    requested: scope(grant.requested),
    state: STATES[grant.state],
    endpointId: grant.endpointId,
    createdAt: timestampFromMs(grant.createdAt),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  });
}
