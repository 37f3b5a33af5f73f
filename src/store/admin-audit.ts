import type { RedisConnection, Reply } from "./connection.ts";
import { ADMIN_AUDIT_KEY } from "./keys.ts";
import { runKeyedScript } from "./script.ts";

/** What an operator did, or asked for. Nothing in it is secret. */
export interface AdminAction {
  /** Milliseconds since the epoch, when it was asked for; absent on an entry whose action has no outcome yet. */
  readonly at?: number;
  readonly operator: string;
  /** `package.Service/Method`. */
  readonly action: string;
  readonly agent: string;
  readonly target: string;
  readonly reason: string;
  readonly requestId: string;
  readonly details: Readonly<Record<string, string>>;
  /** Absent: the process ended before it was known. */
  readonly outcome?: "ok" | "refused" | "failed";
  /** Kind of the error. */
  readonly error?: string;
}

export interface AdminEntry extends AdminAction {
  /** Id of the stream entry. */
  readonly id: string;
  readonly at: number;
}

/** How many entries are kept, and for how long in milliseconds: 100 000 of 90 days. */
const KEEP = { most: 100_000, age: 90 * 24 * 60 * 60 * 1000 } as const;

/** An entry is written when its action ends, and so never later than this after it was asked for. */
const LONGEST_ACTION_MS = 60 * 60 * 1000;

/** The record of what operators did. */
export class AdminAuditStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** Writes down that something is about to be done; answers the entry's id. */
  begin(action: AdminAction): Promise<string> {
    return this.#write("", action);
  }

  /** Puts what came of it in the place of the entry that `begin` wrote. */
  async end(begun: string, action: AdminAction): Promise<void> {
    await this.#write(begun, { ...action, at: timeOf(begun) });
  }

  /**
   * At most `count` entries, newest first, that were written before the entry `before` (an id; empty: all). `since` and
   * `until`, in milliseconds since the epoch, only save reading what was asked for at other times.
   */
  async read(query: {
    readonly before: string;
    readonly since: number | undefined;
    readonly until: number | undefined;
    readonly count: number;
  }): Promise<AdminEntry[]> {
    const oldest = Math.max(query.since ?? 0, Date.now() - KEEP.age);
    let newest = query.until === undefined ? "+" : idAt(query.until + LONGEST_ACTION_MS);
    if (query.before !== "") newest = `(${query.before}`;
    const range = [newest, idAt(oldest), "COUNT", String(query.count)];
    const reply = await this.#redis.run(ADMIN_AUDIT_KEY, ["XREVRANGE", ADMIN_AUDIT_KEY, ...range]);
    return (Array.isArray(reply) ? reply : []).map(entryOf);
  }

  async #write(begun: string, action: AdminAction): Promise<string> {
    const args = { begun, entry: JSON.stringify(action), ...KEEP };
    return String(await runKeyedScript(this.#redis, "admin_audit", ADMIN_AUDIT_KEY, args));
  }
}

/** The start of the ids of a time. Ids have no place for times before 1970, nor for those beyond what a date can be. */
function idAt(ms: number): string {
  return String(Math.min(Math.max(0, ms), 8.64e15));
}

function timeOf(id: string): number {
  return Number.parseInt(id, 10);
}

function entryOf(entry: Reply): AdminEntry {
  const [id, fields] = Array.isArray(entry) ? entry : [];
  const text = Array.isArray(fields) ? fields[1] : undefined;
  const action = JSON.parse(String(text)) as AdminAction;
  return { ...action, id: String(id), at: action.at ?? timeOf(String(id)) };
}
