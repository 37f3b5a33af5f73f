import { fromBinary } from "@bufbuild/protobuf";
import { type Task, TaskSchema, type TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { rememberBytes } from "../domain/encoded.ts";
import type { RedisConnection, Reply } from "./connection.ts";
import { runScript, type ScriptArgs, type ScriptName } from "./script.ts";

/** Whose eyes a read is done with. `shared`: the agent lets every endpoint of a queue see that queue's tasks. */
export interface Viewer {
  readonly id: string;
  readonly shared: boolean;
  readonly queues: readonly string[];
  /** An operator's eyes: every task of the agent. */
  readonly all?: boolean;
}

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

export function viewerArgs(viewer: Viewer): { caller: string; shared: boolean | string; queues: string } {
  const shared = viewer.all === true ? "*" : viewer.shared;
  return { caller: viewer.id, shared, queues: JSON.stringify(viewer.queues) };
}

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

/** Reads of tasks. Writes go through a back end's own transitions. */
export class TaskStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** The task, or undefined where it does not exist or the viewer may not see it: the two are one answer (A2A-10). */
  async read(agent: string, id: string, viewer: Viewer, shape: TaskShape): Promise<TaskSnapshot | undefined> {
    const { verdict, rest } = await this.#run("read", agent, {
      id,
      ...viewerArgs(viewer),
      history: shape.historyLength,
      artifacts: shape.includeArtifacts,
    });
    return verdict === "ok" ? snapshotOf(rest) : undefined;
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

  async #run(name: ScriptName, agent: string, args: ScriptArgs) {
    return verdictOf(await runScript(this.#redis, name, agent, args));
  }
}
