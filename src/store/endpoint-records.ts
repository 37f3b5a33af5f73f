import { type Caller, type Friend, isVerb, type Verb } from "../domain/caller.ts";

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
  /** The first 12 characters of the credential (SB-57); empty while a friend has not picked it up. */
  readonly prefix: string;
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
  readonly lastSeenAt: number | undefined;
  readonly defaultLeaseSeconds: number | undefined;
  /** Set for an endpoint that a friend request led to. */
  readonly friend: Friend | undefined;
}

export type NewEndpoint = Pick<
  EndpointRecord,
  | "name"
  | "agent"
  | "owner"
  | "queues"
  | "verbs"
  | "streaming"
  | "push"
  | "expiresAt"
  | "defaultLeaseSeconds"
  | "friend"
>;

/** The identity that an endpoint's credential stands for. */
export function callerOf(record: EndpointRecord): Caller {
  return {
    id: record.id,
    name: record.name,
    agent: record.agent,
    queues: record.queues,
    verbs: new Set(record.verbs),
    capabilities: { streaming: record.streaming, push: record.push },
    ...(record.friend === undefined ? {} : { friend: record.friend }),
    ...(record.expiresAt === undefined ? {} : { expiresAt: record.expiresAt }),
    ...(record.defaultLeaseSeconds === undefined ? {} : { defaultLeaseSeconds: record.defaultLeaseSeconds }),
  };
}

/** As the arguments of HSET. */
export function fieldsOf(record: EndpointRecord): string[] {
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
    ...(record.friend === undefined ? {} : { grant: record.friend.grantId, persona: record.friend.persona }),
    ...(record.expiresAt === undefined ? {} : { expires: String(record.expiresAt) }),
    ...(record.defaultLeaseSeconds === undefined ? {} : { lease: String(record.defaultLeaseSeconds) }),
  };
  return Object.entries(fields).flat();
}

function pairsOf(reply: unknown): Map<string, string> {
  const fields = new Map<string, string>();
  if (!Array.isArray(reply)) return fields;
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), String(reply[i + 1]));
  return fields;
}

/** Whether a record, as HGETALL answers it, names the hash of a credential as its own. */
export function holdsHash(reply: unknown, hash: string): boolean {
  return pairsOf(reply).get("hash") === hash;
}

/** From what HGETALL answers; undefined where there is no such endpoint. */
export function recordOf(id: string, reply: unknown): EndpointRecord | undefined {
  const fields = pairsOf(reply);
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
    friend: fields.has("grant")
      ? { grantId: fields.get("grant") ?? "", persona: fields.get("persona") ?? "" }
      : undefined,
  };
}
