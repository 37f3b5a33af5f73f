import { createHash, randomBytes, randomUUID } from "node:crypto";
import { isVerb } from "../domain/caller.ts";
import { GRANT_STATES, type GrantScope, type GrantState } from "../domain/friendship.ts";
import type { RedisConnection } from "./connection.ts";
import { GRANTS_PREFIX } from "./keys.ts";
import { type KeyedScriptName, runKeyedScript, type ScriptArgs } from "./script.ts";

/** Who asks, as an issuer attested it. */
export interface Human {
  readonly issuer: string;
  readonly subject: string;
  /** Verified by the issuer; empty: it said none. */
  readonly email: string;
}

/** A friend request and what became of it. Times in milliseconds since the epoch. */
export interface GrantRecord {
  readonly id: string;
  /** The agent that the requester wants to hand work to. */
  readonly agent: string;
  /** What the requester calls itself. */
  readonly persona: string;
  readonly human: Human;
  readonly reason: string;
  readonly requested: GrantScope;
  readonly state: GrantState;
  /** Set once approved. */
  readonly granted: GrantScope | undefined;
  readonly endpointId: string;
  readonly createdAt: number;
  readonly decidedAt: number | undefined;
  readonly revokedAt: number | undefined;
  /** When the credential was fetched. */
  readonly pickedUpAt: number | undefined;
  /** Until when it can be fetched. */
  readonly pickupUntil: number | undefined;
}

export type NewGrant = Pick<GrantRecord, "agent" | "persona" | "human" | "reason" | "requested">;

export type RequestOutcome =
  | { readonly kind: "ok"; readonly id: string; readonly pickupToken: string }
  | { readonly kind: "quota" | "full" | "conflict" };

export type Change = "ok" | "notfound" | "conflict";

export type Pickup =
  | { readonly kind: "unknown" | "spent" | "expired" }
  | { readonly kind: "state"; readonly state: GrantState }
  | { readonly kind: "ready" | "ok"; readonly endpointId: string };

/** The only direction that a request from outside has (todo-delegation.md 2.6). */
const DIRECTION = "outbound";

const PICKUP_TOKEN = /^sbp_[A-Za-z0-9_-]{43}$/;

function digest(...parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** Friend requests. Of a pickup token only the SHA-256 is kept. Every change is one script, with its audit. */
export class GrantStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** Records a request; the pickup token exists only in the answer. `full`: how many may wait for a decision. */
  async request(
    grant: NewGrant,
    limits: { readonly quota: number; readonly full: number },
  ): Promise<RequestOutcome> {
    const id = `fr_${randomUUID()}`;
    const pickupToken = mintPickupToken();
    const { issuer, subject, email } = grant.human;
    const human = digest(issuer, subject);
    const answer = await this.#run("grant_request", {
      id,
      human,
      pair: digest(issuer, subject, grant.persona, grant.agent, DIRECTION),
      quota: limits.quota,
      full: limits.full,
      record: JSON.stringify({
        agent: grant.agent,
        persona: grant.persona,
        issuer,
        subject,
        email,
        reason: grant.reason,
        requested: JSON.stringify(grant.requested),
        pickup: digest(pickupToken),
      }),
    });
    return answer === "ok"
      ? { kind: "ok", id, pickupToken }
      : { kind: answer as "quota" | "full" | "conflict" };
  }

  async get(id: string): Promise<GrantRecord | undefined> {
    return grantOf(id, await this.#redis.run(GRANTS_PREFIX, ["HGETALL", `${GRANTS_PREFIX}grant:${id}`]));
  }

  /** All requests, newest first. */
  async list(): Promise<GrantRecord[]> {
    const ids = await this.#redis.run(GRANTS_PREFIX, ["ZREVRANGE", `${GRANTS_PREFIX}all`, "0", "-1"]);
    const grants = await Promise.all((Array.isArray(ids) ? ids : []).map((id) => this.get(String(id))));
    return grants.filter((grant) => grant !== undefined);
  }

  async approve(
    id: string,
    input: { readonly granted: GrantScope; readonly endpointId: string; readonly pickupMs: number },
    actor: string,
  ): Promise<Change> {
    const granted = JSON.stringify(input.granted);
    const args = {
      id,
      state: "approved",
      granted,
      endpoint: input.endpointId,
      pickup: input.pickupMs,
      actor,
    };
    return (await this.#run("grant_decide", args)) as Change;
  }

  async deny(id: string, actor: string): Promise<Change> {
    const args = { id, state: "denied", granted: "", endpoint: "", pickup: 0, actor };
    return (await this.#run("grant_decide", args)) as Change;
  }

  async revoke(id: string, actor: string): Promise<Change> {
    return (await this.#run("grant_revoke", { id, actor })) as Change;
  }

  /** Makes a new pickup token, and the old one worthless. */
  async reissue(
    id: string,
    pickupMs: number,
    actor: string,
  ): Promise<{ readonly kind: Change; readonly pickupToken: string }> {
    const pickupToken = mintPickupToken();
    const args = { id, token: digest(pickupToken), pickup: pickupMs, actor };
    return { kind: (await this.#run("grant_reissue", args)) as Change, pickupToken };
  }

  async delete(id: string, actor: string): Promise<Change> {
    return (await this.#run("grant_delete", { id, actor })) as Change;
  }

  /** What a pickup token opens; with `commit`, the credential counts as handed over. */
  async pickup(id: string, token: string, commit: boolean): Promise<Pickup> {
    if (!PICKUP_TOKEN.test(token)) return { kind: "unknown" };
    const reply = await runKeyedScript(this.#redis, "grant_pickup", GRANTS_PREFIX, {
      id,
      pickup: digest(token),
      commit,
    });
    const [kind, value] = Array.isArray(reply) ? reply.map(String) : [];
    if (kind === "state") return { kind, state: stateOf(value) };
    if (kind === "ready" || kind === "ok") return { kind, endpointId: value ?? "" };
    return { kind: kind as "unknown" | "spent" | "expired" };
  }

  async #run(name: KeyedScriptName, args: ScriptArgs): Promise<string> {
    return String(await runKeyedScript(this.#redis, name, GRANTS_PREFIX, args));
  }
}

/** 256 random bits; told apart from a credential by its first letters, and good for nothing but the pickup. */
function mintPickupToken(): string {
  return `sbp_${randomBytes(32).toString("base64url")}`;
}

function stateOf(text: string | undefined): GrantState {
  const state = GRANT_STATES.find((each) => each === text);
  if (state === undefined) throw new Error("unexpected state of a friend request");
  return state;
}

function scopeOf(json: string): GrantScope {
  const scope = JSON.parse(json) as GrantScope;
  return { ...scope, verbs: scope.verbs.filter(isVerb) };
}

function grantOf(id: string, reply: unknown): GrantRecord | undefined {
  if (!Array.isArray(reply) || reply.length === 0) return undefined;
  const fields = new Map<string, string>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), String(reply[i + 1]));
  const text = (name: string) => fields.get(name) ?? "";
  const time = (name: string) => (fields.has(name) ? Number(fields.get(name)) : undefined);
  return {
    id,
    agent: text("agent"),
    persona: text("persona"),
    human: { issuer: text("issuer"), subject: text("subject"), email: text("email") },
    reason: text("reason"),
    requested: scopeOf(text("requested")),
    state: stateOf(text("state")),
    granted: fields.has("granted") ? scopeOf(text("granted")) : undefined,
    endpointId: text("endpoint"),
    createdAt: time("created") ?? 0,
    decidedAt: time("decided"),
    revokedAt: time("revoked"),
    pickedUpAt: time("picked"),
    pickupUntil: time("until"),
  };
}
