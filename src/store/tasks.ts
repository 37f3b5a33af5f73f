import { fromBinary } from "@bufbuild/protobuf";
import { type Task, TaskSchema, type TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { rememberBytes } from "../domain/encoded.ts";
import { activeSpan } from "../telemetry/tracing/active.ts";
import type { RedisConnection, Reply } from "./connection.ts";
import { runScript } from "./script.ts";
import { memoryOf } from "./task-weight.ts";
import { VersionCache } from "./version-cache.ts";
import { VersionChecks } from "./version-checks.ts";
import { type Viewer, viewerArgs } from "./viewer.ts";

/** How much of a task an answer carries. `historyLength`: -1 for all, 0 for none (A2A-69 to A2A-71). */
export interface TaskShape {
  readonly historyLength: number;
  readonly includeArtifacts: boolean;
}

export const WHOLE_TASK: TaskShape = { historyLength: -1, includeArtifacts: true };

/** A task as it stood at one position of its log. */
export interface TaskSnapshot {
  readonly task: Task;
  readonly state: TaskState;
  /** The number of the last event that the snapshot includes. */
  readonly seq: number;
}

/** What to list. Timestamps in milliseconds since the epoch. */
export interface ListQuery {
  readonly scopes: readonly string[];
  readonly contextId: string;
  /** Undefined: any state. */
  readonly state: TaskState | undefined;
  /** Inclusive (A2A-65). */
  readonly statusAfter: number | undefined;
  readonly pageSize: number;
  readonly shape: TaskShape;
  readonly cursor: ListCursor | undefined;
}

/** Where a pinned listing goes on. */
export interface ListCursor {
  readonly score: string;
  readonly lastId: string;
  readonly asOf: string;
  readonly total: number;
}

export interface ListPage {
  readonly tasks: readonly Task[];
  readonly total: number;
  /** Undefined on the last page. */
  readonly next: ListCursor | undefined;
}

/** How long a page token, and the places that it pins, live: 10 minutes (design.md section 7). */
export const LISTING_MS = 10 * 60 * 1000;

/** Reply of a script: its verdict and the rest. */
export function verdictOf(reply: Reply): { readonly verdict: string; readonly rest: readonly Reply[] } {
  if (!Array.isArray(reply)) throw new Error("unexpected reply of a script");
  const [verdict, ...rest] = reply;
  return { verdict: String(verdict), rest };
}

/** Reads `[Task bytes, seq, state]`. */
export function snapshotOf(rest: readonly Reply[]): TaskSnapshot {
  const [bytes, seq, state] = rest;
  if (!Buffer.isBuffer(bytes)) throw new Error("unexpected task in the reply of a script");
  const task = fromBinary(TaskSchema, bytes);
  rememberBytes(task, bytes);
  return { task, seq: Number(seq), state: Number(state) as TaskState };
}

/** What the script answers where the reader has the newest version at hand. */
const CURRENT = 1;

/** Memory for tasks as they were last read, in bytes. */
const CACHE_BYTES = 32 * 1024 * 1024;

/** Reads of tasks. Writes go through a back end's own transitions. */
export class TaskStore {
  readonly #redis: RedisConnection;
  readonly #checks: VersionChecks;
  readonly #cache = new VersionCache<TaskSnapshot>(CACHE_BYTES);

  constructor(redis: RedisConnection) {
    this.#redis = redis;
    this.#checks = new VersionChecks(redis);
    // A server that comes back may have lost the newest writes, and then counts versions again that we have seen.
    redis.onSubscriberReconnect(() => this.#cache.clear());
  }

  /**
   * The task, or undefined where it does not exist or the viewer may not see it: the two are one answer (A2A-10).
   * Nobody may change it: whoever reads the same version gets the same object. The store is asked every time: whether what
   * this process has is still the newest, where it has something, and for the task where that is not so.
   */
  async read(agent: string, id: string, viewer: Viewer, shape: TaskShape): Promise<TaskSnapshot | undefined> {
    const key = `${agent}/${id}/${shape.historyLength}/${shape.includeArtifacts ? "a" : ""}`;
    const known = this.#cache.get(key);
    // A call that is traced shows what it asked of Redis, so it asks alone.
    if (known !== undefined && activeSpan()?.sampled !== true) {
      if (await this.#checks.isCurrent(agent, id, viewer, known.version)) return known.value;
    }
    const reply = await runScript(this.#redis, "read", agent, {
      id,
      ...viewerArgs(viewer),
      history: shape.historyLength,
      artifacts: shape.includeArtifacts,
      known: known?.version ?? "",
    });
    if (reply === CURRENT) return known?.value;
    const { verdict, rest } = verdictOf(reply);
    if (verdict !== "ok") return undefined;
    const snapshot = snapshotOf(rest);
    const [bytes, , , version] = rest;
    this.#cache.set(key, String(version), snapshot, memoryOf(snapshot.task, (bytes as Buffer).length));
    return snapshot;
  }

  async list(agent: string, query: ListQuery): Promise<ListPage> {
    const { cursor } = query;
    const reply = await runScript(this.#redis, "list", agent, {
      scopes: JSON.stringify(query.scopes),
      context: query.contextId,
      state: query.state ?? "",
      after: query.statusAfter ?? "",
      size: query.pageSize,
      score: cursor?.score ?? "",
      last: cursor?.lastId ?? "",
      asof: cursor?.asOf ?? "",
      total: cursor?.total ?? "",
      history: query.shape.historyLength,
      artifacts: query.shape.includeArtifacts,
      pinms: LISTING_MS,
    });
    if (!Array.isArray(reply)) throw new Error("unexpected reply of the list script");
    const [total, asOf, score, lastId, more, ...tasks] = reply;
    return {
      tasks: tasks.map((bytes) => fromBinary(TaskSchema, bytes as Buffer)),
      total: Number(total),
      next:
        Number(more) === 1
          ? { score: String(score), lastId: String(lastId), asOf: String(asOf), total: Number(total) }
          : undefined,
    };
  }
}
