import { randomUUID } from "node:crypto";
import type { RedisConnection } from "./connection.ts";
import {
  credentialHash,
  isCredential,
  type MintedCredential,
  mintCredential,
} from "./endpoint-credentials.ts";
import { type EndpointRecord, fieldsOf, holdsHash, type NewEndpoint, recordOf } from "./endpoint-records.ts";
import {
  credentialKey,
  ENDING_ENDPOINTS_KEY,
  ENDPOINTS_KEY,
  endpointKey,
  REVOCATION_CHANNEL,
} from "./keys.ts";

/** An endpoint, and the agent whose todos are its own; the record may be gone. */
export type OfAgent = Pick<EndpointRecord, "id" | "agent">;

/** Names of agents hold no slash. */
function memberOf({ agent, id }: OfAgent): string {
  return `${agent}/${id}`;
}

/** `dead`: the credential is worth nothing. `ended`: and everything that follows from it has been done. */
export type EndNotice = "dead" | "ended";

/** How long whoever revokes an endpoint has for what follows before a sweep takes it over, in milliseconds. */
const TAKE_OVER_MS = 2000;

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
    const minted = mintCredential();
    const record = await this.createWithout(endpoint, minted.prefix);
    await this.setCredential(record.id, minted);
    return { record, credential: minted.credential };
  }

  /** Makes an endpoint that nobody can use until it is given a credential. */
  async createWithout(endpoint: NewEndpoint, prefix = ""): Promise<EndpointRecord> {
    const record: EndpointRecord = {
      ...endpoint,
      id: randomUUID(),
      prefix,
      createdAt: Date.now(),
      revokedAt: undefined,
      lastSeenAt: undefined,
    };
    const key = endpointKey(record.id);
    if (record.expiresAt !== undefined) await this.endBy(record, record.expiresAt);
    await this.#redis.run(key, ["HSET", key, ...fieldsOf(record)]);
    await this.#redis.run(ENDPOINTS_KEY, ["ZADD", ENDPOINTS_KEY, String(record.createdAt), record.id]);
    return record;
  }

  /**
   * Gives an endpoint its credential; one that it had before is dead from then on. The look-up goes first: until the
   * record names the same hash, the credential is good for nothing.
   */
  async setCredential(id: string, minted: Pick<MintedCredential, "hash" | "prefix">): Promise<void> {
    const lookup = credentialKey(minted.hash);
    await this.#redis.run(lookup, ["SET", lookup, id]);
    await this.dropCredential(id);
    const key = endpointKey(id);
    const fields = ["hash", minted.hash, "prefix", minted.prefix];
    await this.#redis.run(key, ["HSET", key, ...fields], { durable: true });
  }

  /** Ends the credential of an endpoint, which stays: its streams close and it can be given another. */
  async dropCredential(id: string): Promise<void> {
    const key = endpointKey(id);
    const hash = await this.#redis.run(key, ["HGET", key, "hash"]);
    if (!Buffer.isBuffer(hash)) return;
    await this.#redis.run(key, ["HDEL", key, "hash"]);
    await this.#dropLookup(hash.toString());
    await this.announceEnd(id);
  }

  async get(id: string): Promise<EndpointRecord | undefined> {
    const reply = await this.#redis.run(endpointKey(id), ["HGETALL", endpointKey(id)]);
    return recordOf(id, reply);
  }

  /** The endpoint of a credential, whatever its state; undefined for an unknown one. */
  async byCredential(credential: string): Promise<EndpointRecord | undefined> {
    if (!isCredential(credential)) return undefined;
    const key = credentialKey(credentialHash(credential));
    const id = await this.#redis.run(key, ["GET", key]);
    if (!Buffer.isBuffer(id)) return undefined;
    const record = endpointKey(id.toString());
    const reply = await this.#redis.run(record, ["HGETALL", record]);
    // The look-up is only a hint: the record says which credential is its own.
    return holdsHash(reply, credentialHash(credential)) ? recordOf(id.toString(), reply) : undefined;
  }

  /** All endpoints, newest first, or so many of them. */
  async list(limit = Number.POSITIVE_INFINITY): Promise<EndpointRecord[]> {
    const last = Number.isFinite(limit) ? String(limit - 1) : "-1";
    const ids = await this.#redis.run(ENDPOINTS_KEY, ["ZREVRANGE", ENDPOINTS_KEY, "0", last]);
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
  async revoke({ id, agent }: OfAgent): Promise<boolean> {
    const key = endpointKey(id);
    const now = Date.now();
    // What follows from the end is found again after a crash, since this comes first.
    await this.endBy({ id, agent }, now + TAKE_OVER_MS);
    const first = await this.#redis.run(key, ["HSETNX", key, "revoked", String(now)], { durable: true });
    if (first !== 1) return false;
    const hash = await this.#redis.run(key, ["HGET", key, "hash"]);
    if (Buffer.isBuffer(hash)) await this.#dropLookup(hash.toString());
    await this.#announce("dead", id);
    return true;
  }

  /** Tells every replica that nothing more comes for the streams of the endpoint. */
  async announceEnd(id: string): Promise<void> {
    await this.#announce("ended", id);
  }

  /** Notes that an endpoint has to be ended, or looked at again, at a time in milliseconds since the epoch. */
  async endBy(endpoint: OfAgent, at: number): Promise<void> {
    const entry = ["ZADD", ENDING_ENDPOINTS_KEY, String(at), memberOf(endpoint)];
    await this.#redis.run(ENDING_ENDPOINTS_KEY, entry);
  }

  /** Endpoints whose end is due, the longest due first. */
  async ending(limit: number): Promise<OfAgent[]> {
    const range = ["-inf", String(Date.now()), "LIMIT", "0", String(limit)];
    const members = await this.#redis.run(ENDING_ENDPOINTS_KEY, [
      "ZRANGEBYSCORE",
      ENDING_ENDPOINTS_KEY,
      ...range,
    ]);
    return (Array.isArray(members) ? members : []).map((member) => {
      const [agent = "", id = ""] = String(member).split("/");
      return { agent, id };
    });
  }

  /** Everything that follows from the end of an endpoint has been done. */
  async ended(endpoint: OfAgent): Promise<void> {
    await this.#redis.run(ENDING_ENDPOINTS_KEY, ["ZREM", ENDING_ENDPOINTS_KEY, memberOf(endpoint)]);
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

  async #dropLookup(hash: string): Promise<void> {
    const lookup = credentialKey(hash);
    await this.#redis.run(lookup, ["DEL", lookup]);
  }

  async #announce(word: EndNotice, id: string): Promise<void> {
    await this.#redis.run(REVOCATION_CHANNEL, ["SPUBLISH", REVOCATION_CHANNEL, `${word} ${id}`]);
  }

  /** Calls back with the id of each endpoint whose credential died on any replica, and again once its work has ended. */
  async onRevoked(callback: (id: string, notice: EndNotice) => void): Promise<void> {
    await this.#redis.subscribe(REVOCATION_CHANNEL, (payload) => {
      const [word, id = ""] = payload.toString().split(" ");
      callback(id, word === "ended" ? "ended" : "dead");
    });
  }
}
