import { FRIEND_VERBS, type GrantScope, type GrantState } from "../domain/friendship.ts";
import { IdTokenRefused, type IdTokens } from "../identity/id-tokens.ts";
import { IssuerUnavailable } from "../identity/issuer-keys.ts";
import { mintCredential } from "../store/endpoint-credentials.ts";
import type { EndpointStore } from "../store/endpoints.ts";
import type { GrantStore } from "../store/grants.ts";
import type { AgentDirectory } from "./agents.ts";

/** The closed list of refusals (todo-delegation.md 2.7), with their HTTP status. */
export const REFUSALS = {
  invalid_request: 400,
  unauthenticated: 401,
  not_found: 404,
  conflict: 409,
  gone: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  quota_exceeded: 429,
  rate_limited: 429,
  provenance_unavailable: 503,
  internal: 500,
} as const;

/** A friend request or a pickup was refused. The message may be shown. */
export class FriendRequestRefused extends Error {
  override readonly name = "FriendRequestRefused";
  readonly code: keyof typeof REFUSALS;
  /** Seconds. */
  readonly retryAfter: number | undefined;

  constructor(
    code: keyof typeof REFUSALS,
    message: string,
    options: { retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryAfter = options.retryAfter;
  }
}

/** The body of a friend request; names as on the wire. Its fields are not checked yet, only their types. */
export interface FriendRequestBody {
  readonly to_persona: string;
  readonly from_persona: string;
  readonly requested_queues: readonly string[];
  readonly requested_verbs: readonly string[];
  /** Ask for streams too. Default true (Q8). */
  readonly requested_streaming: boolean;
  /** Ask for push notifications too. Default false (Q8). */
  readonly requested_push: boolean;
  readonly reason: string;
  readonly provenance: string;
}

export interface FriendRequestsOptions {
  readonly grants: GrantStore;
  readonly endpoints: EndpointStore;
  readonly agents: AgentDirectory;
  readonly idTokens: IdTokens;
  readonly grantableVerbs: readonly string[];
  readonly quota: number;
  /** Where the requester sends its work to. */
  publicUrl(): string;
}

export interface Received {
  readonly request_id: string;
  readonly state: "pending";
  readonly provenance_verified: true;
  readonly pickup_token: string;
}

export interface PickedUp {
  readonly request_id: string;
  readonly state: GrantState;
  readonly credential?: string;
  readonly agent?: string;
  readonly url?: string;
  readonly granted?: {
    readonly queues: readonly string[];
    readonly verbs: readonly string[];
    readonly streaming: boolean;
    readonly push: boolean;
  };
  readonly expires_at?: string;
}

/** Requests that wait for an operator at one time, over all people: strangers cannot fill the store. */
const MAX_PENDING = 10_000;
const QUOTA_RETRY_SECONDS = 3600;

/** Intake of friend requests and the hand-over of the credential, once (todo-delegation.md 2.7, Q7). */
export class FriendRequests {
  readonly #options: FriendRequestsOptions;

  constructor(options: FriendRequestsOptions) {
    this.#options = options;
  }

  /**
   * Records a request. The order is part of the contract: who asks is proved before anything is looked up or judged, so
   * that a stranger learns nothing from the answers (SB-61). Throws FriendRequestRefused.
   */
  async receive(body: FriendRequestBody): Promise<Received> {
    const human = await this.#verify(body.provenance);
    const requested = this.#checked(body);
    const { agents, grants, quota } = this.#options;
    if (!agents.isDiscoverable(body.to_persona)) {
      throw new FriendRequestRefused("not_found", "no such persona");
    }
    const outcome = await grants.request(
      { agent: body.to_persona, persona: body.from_persona, human, reason: body.reason, requested },
      { quota, full: MAX_PENDING },
    );
    switch (outcome.kind) {
      case "quota":
      case "full":
        throw new FriendRequestRefused("quota_exceeded", "too many open requests", {
          retryAfter: QUOTA_RETRY_SECONDS,
        });
      case "conflict":
        throw new FriendRequestRefused("conflict", "there is an open request or a friendship already");
      case "ok":
        return {
          request_id: outcome.id,
          state: "pending",
          provenance_verified: true,
          pickup_token: outcome.pickupToken,
        };
    }
  }

  /** What the holder of the pickup token is told: the state, and once after approval the credential (SB-66). */
  async pickup(id: string, token: string): Promise<PickedUp> {
    const { grants, endpoints } = this.#options;
    const seen = await grants.pickup(id, token, false);
    if (seen.kind === "state") return { request_id: id, state: seen.state };
    const endpoint = seen.kind === "ready" ? await endpoints.get(seen.endpointId) : undefined;
    if (seen.kind === "ready" && (endpoint === undefined || endpoint.revokedAt !== undefined)) {
      return { request_id: id, state: "revoked" };
    }
    if (endpoint === undefined) throw pickupRefused(seen.kind);
    const handed = await grants.pickup(id, token, true);
    if (handed.kind !== "ok") throw pickupRefused(handed.kind);
    const minted = mintCredential();
    await endpoints.setCredential(handed.endpointId, minted);
    const { agent, queues, verbs, streaming, push, expiresAt } = endpoint;
    return {
      request_id: id,
      state: "approved",
      credential: minted.credential,
      agent,
      url: this.#options.publicUrl(),
      granted: { queues, verbs, streaming, push },
      ...(expiresAt === undefined ? {} : { expires_at: new Date(expiresAt).toISOString() }),
    };
  }

  async #verify(provenance: string) {
    const { idTokens } = this.#options;
    if (!idTokens.configured) {
      throw new FriendRequestRefused("provenance_unavailable", "friend requests are not offered here");
    }
    try {
      return await idTokens.verify(provenance);
    } catch (error) {
      if (error instanceof IdTokenRefused) {
        throw new FriendRequestRefused("unauthenticated", "the provenance does not verify", { cause: error });
      }
      if (error instanceof IssuerUnavailable) {
        throw new FriendRequestRefused("provenance_unavailable", "the issuer cannot be asked now", {
          retryAfter: 30,
          cause: error,
        });
      }
      throw error;
    }
  }

  /** Lengths and counts; verbs that a friend is never granted are dropped (SB-63). */
  #checked(body: FriendRequestBody): GrantScope {
    for (const field of ["to_persona", "from_persona"] as const) {
      if (body[field].trim() === "" || body[field].length > 512)
        throw invalid(`${field} must have 1 to 512 characters`);
    }
    if (body.reason.length > 1024) throw invalid("reason must have at most 1024 characters");
    for (const field of ["requested_queues", "requested_verbs"] as const) {
      const items = body[field];
      if (items.length > 32) throw invalid(`${field} must have at most 32 items`);
      if (items.some((item) => item.trim() === "" || item.length > 128)) {
        throw invalid(`${field}: each must have 1 to 128 characters`);
      }
    }
    if (body.requested_queues.length === 0) throw invalid("requested_queues must hold at least one queue");
    const { grantableVerbs } = this.#options;
    const verbs = FRIEND_VERBS.filter(
      (verb) => grantableVerbs.includes(verb) && body.requested_verbs.includes(verb),
    );
    if (verbs.length === 0) throw invalid("requested_verbs must hold at least one verb that can be granted");
    return {
      queues: [...new Set(body.requested_queues)],
      verbs,
      streaming: body.requested_streaming,
      push: body.requested_push,
    };
  }
}

function invalid(message: string): FriendRequestRefused {
  return new FriendRequestRefused("invalid_request", message);
}

/** One answer for an unknown request and a wrong token. */
function pickupRefused(kind: string): FriendRequestRefused {
  if (kind === "spent") return new FriendRequestRefused("gone", "the credential was picked up before");
  if (kind === "expired") return new FriendRequestRefused("gone", "the time for the pickup has passed");
  return new FriendRequestRefused("unauthenticated", "invalid pickup token");
}
