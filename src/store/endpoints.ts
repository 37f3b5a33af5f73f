import { createHash, randomBytes, randomUUID } from "node:crypto";
import { type Caller, isVerb, type Verb } from "../domain/caller.ts";
import type { RedisConnection } from "./connection.ts";
import { credentialKey, ENDPOINTS_KEY, endpointKey, REVOCATION_CHANNEL } from "./keys.ts";

/** A vended endpoint as stored; never its credential. Times in milliseconds since the epoch. */
export interface EndpointRecord {
  readonly id: string;
  readonly name: string;
  readonly agent: string;
  readonly owner: string;
  readonly queues: readonly string[];
  readonly verbs: readonly Verb[];
  readonly streaming: boolean;
  readonly push: boolean;
  /** The first 12 characters of the credential (SB-57). */
  readonly prefix: string;
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
  readonly lastSeenAt: number | undefined;
  readonly defaultLeaseSeconds: number | undefined;
}

export type NewEndpoint = Pick<
  EndpointRecord,
  "name" | "agent" | "owner" | "queues" | "verbs" | "streaming" | "push" | "expiresAt" | "defaultLeaseSeconds"
>;

/** `sbk_` and 32 random bytes in base64url: 47 characters (todo-delegation.md 2.2). */
const CREDENTIAL = /^sbk_[A-Za-z0-9_-]{43}$/;
const PREFIX_LENGTH = 12;

/** Hashing at rest needs no salt or slowness: the credential has 256 bits of its own. */
export function credentialHash(credential: string): string {
  return createHash("sha256").update(credential).digest("hex");
}

/** Endpoint records. Only the SHA-256 of a credential is ever stored. */
export class EndpointStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** Vends an endpoint; the credential exists only in the answer. */
  async create(
    endpoint: NewEndpoint,
  ): Promise<{ readonly record: EndpointRecord; readonly credential: string }> {
    const credential = `sbk_${randomBytes(32).toString("base64url")}`;
    const record: EndpointRecord = {
      ...endpoint,
      id: randomUUID(),
      prefix: credential.slice(0, PREFIX_LENGTH),
      createdAt: Date.now(),
      revokedAt: undefined,
      lastSeenAt: undefined,
    };
    const hash = credentialHash(credential);
    const key = endpointKey(record.id);
    // The credential's own key goes last: until it stands, the endpoint cannot be used and nothing half-made shows.
    await this.#redis.run(key, ["HSET", key, ...fieldsOf(record), "hash", hash]);
    await this.#redis.run(ENDPOINTS_KEY, ["ZADD", ENDPOINTS_KEY, String(record.createdAt), record.id]);
    await this.#redis.run(credentialKey(hash), ["SET", credentialKey(hash), record.id]);
    return { record, credential };
  }

  async get(id: string): Promise<EndpointRecord | undefined> {
    const reply = await this.#redis.run(endpointKey(id), ["HGETALL", endpointKey(id)]);
    return recordOf(id, reply);
  }

  /** The endpoint of a credential, whatever its state; undefined for an unknown one. */
  async byCredential(credential: string): Promise<EndpointRecord | undefined> {
    if (!CREDENTIAL.test(credential)) return undefined;
    const key = credentialKey(credentialHash(credential));
    const id = await this.#redis.run(key, ["GET", key]);
    return Buffer.isBuffer(id) ? this.get(id.toString()) : undefined;
  }

  /** All endpoints, newest first. */
  async list(): Promise<EndpointRecord[]> {
    const ids = await this.#redis.run(ENDPOINTS_KEY, ["ZREVRANGE", ENDPOINTS_KEY, "0", "-1"]);
    const records = await Promise.all((Array.isArray(ids) ? ids : []).map((id) => this.get(String(id))));
    return records.filter((record) => record !== undefined);
  }

  async update(
    id: string,
    change: { readonly name?: string; readonly defaultLeaseSeconds?: number },
  ): Promise<void> {
    const key = endpointKey(id);
    if (change.name !== undefined) await this.#redis.run(key, ["HSET", key, "name", change.name]);
    if (change.defaultLeaseSeconds === 0) await this.#redis.run(key, ["HDEL", key, "lease"]);
    else if (change.defaultLeaseSeconds !== undefined) {
      await this.#redis.run(key, ["HSET", key, "lease", String(change.defaultLeaseSeconds)]);
    }
  }

  /** Ends the credential on every replica at once (SB-59). False when it was not active. */
  async revoke(id: string): Promise<boolean> {
    const key = endpointKey(id);
    const first = await this.#redis.run(key, ["HSETNX", key, "revoked", String(Date.now())]);
    if (first !== 1) return false;
    const hash = await this.#redis.run(key, ["HGET", key, "hash"]);
    if (Buffer.isBuffer(hash)) {
      const lookup = credentialKey(hash.toString());
      await this.#redis.run(lookup, ["DEL", lookup]);
    }
    await this.#redis.run(REVOCATION_CHANNEL, ["SPUBLISH", REVOCATION_CHANNEL, id]);
    return true;
  }

  async delete(id: string): Promise<void> {
    await this.#redis.run(ENDPOINTS_KEY, ["ZREM", ENDPOINTS_KEY, id]);
    await this.#redis.run(endpointKey(id), ["DEL", endpointKey(id)]);
  }

  /** Notes a use, to the minute; a failure is nobody's problem but the operator's list. */
  async touch(record: EndpointRecord, now: number): Promise<void> {
    if (record.lastSeenAt !== undefined && now - record.lastSeenAt < 60_000) return;
    const key = endpointKey(record.id);
    await this.#redis.run(key, ["HSET", key, "seen", String(now)]);
  }

  /** Calls back with the id of each endpoint revoked on any replica. */
  async onRevoked(callback: (id: string) => void): Promise<void> {
    await this.#redis.subscribe(REVOCATION_CHANNEL, (payload) => callback(payload.toString()));
  }
}

/** The identity that an endpoint's credential stands for. */
export function callerOf(record: EndpointRecord): Caller {
  return {
    id: record.id,
    name: record.name,
    agent: record.agent,
    queues: record.queues,
    verbs: new Set(record.verbs),
    capabilities: { streaming: record.streaming, push: record.push },
    ...(record.expiresAt === undefined ? {} : { expiresAt: record.expiresAt }),
    ...(record.defaultLeaseSeconds === undefined ? {} : { defaultLeaseSeconds: record.defaultLeaseSeconds }),
  };
}

function fieldsOf(record: EndpointRecord): string[] {
  const fields = {
    name: record.name,
    agent: record.agent,
    owner: record.owner,
    queues: JSON.stringify(record.queues),
    verbs: JSON.stringify(record.verbs),
    streaming: record.streaming ? "1" : "",
    push: record.push ? "1" : "",
    prefix: record.prefix,
    created: String(record.createdAt),
    ...(record.expiresAt === undefined ? {} : { expires: String(record.expiresAt) }),
    ...(record.defaultLeaseSeconds === undefined ? {} : { lease: String(record.defaultLeaseSeconds) }),
  };
  return Object.entries(fields).flat();
}

function recordOf(id: string, reply: unknown): EndpointRecord | undefined {
  if (!Array.isArray(reply) || reply.length === 0) return undefined;
  const fields = new Map<string, string>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), String(reply[i + 1]));
  // A record without its name is the remnant of one that was deleted while it was being noted as used.
  const name = fields.get("name");
  if (name === undefined) return undefined;
  const number = (field: string) => (fields.has(field) ? Number(fields.get(field)) : undefined);
  const list = (field: string) => JSON.parse(fields.get(field) ?? "[]") as string[];
  return {
    id,
    name,
    agent: fields.get("agent") ?? "",
    owner: fields.get("owner") ?? "",
    queues: list("queues"),
    verbs: list("verbs").filter(isVerb),
    streaming: fields.get("streaming") === "1",
    push: fields.get("push") === "1",
    prefix: fields.get("prefix") ?? "",
    createdAt: number("created") ?? 0,
    expiresAt: number("expires"),
    revokedAt: number("revoked"),
    lastSeenAt: number("seen"),
    defaultLeaseSeconds: number("lease"),
  };
}
