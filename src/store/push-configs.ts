import type { RedisConnection } from "./connection.ts";
import { runScript } from "./script.ts";
import { verdictOf } from "./tasks.ts";
import { type Viewer, viewerArgs } from "./viewer.ts";

/** The A2A version whose body and headers a receiver gets. */
export type PushVersion = "1.0" | "0.3";

/** A push config as stored: everything but its secrets (OW-45). */
export interface PushConfigRecord {
  /** The id that clients know; random unless the client chose it (OW-55). */
  readonly id: string;
  /** The endpoint that made it; nobody else sees it. */
  readonly owner: string;
  readonly url: string;
  /** `host:port` of the URL, normalised: names the receiver's limits, and is safe to log. */
  readonly host: string;
  /** Scheme of `authentication`; absent where there is none. */
  readonly scheme?: string;
  /** A credential or token is sealed beside this record. */
  readonly sealed?: true;
  readonly version: PushVersion;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** W3C `traceparent` of the call that registered it. */
  readonly trace?: string;
}

/** A config that passed every check and is ready to be stored. */
export interface PushRegistration {
  /** Random name of its lane and its secret; a replaced config keeps the old one. */
  readonly ref: string;
  readonly config: PushConfigRecord;
  /** Sealed credential; empty where there is none. */
  readonly sealed: string;
  /** How many configs a task may have. */
  readonly limit: number;
}

/** Push configs of tasks. All reads and writes are by the task's viewer and the config's owner (OW-54, SB-80). */
export class PushConfigStore {
  readonly #redis: RedisConnection;
  readonly #keepMs: number;

  /** @param options.keepMs how long a credential outlives its ended task where it could still be needed */
  constructor(redis: RedisConnection, options: { readonly keepMs: number }) {
    this.#redis = redis;
    this.#keepMs = options.keepMs;
  }

  async set(
    agent: string,
    taskId: string,
    viewer: Viewer,
    registration: PushRegistration,
    actor: string,
  ): Promise<"ok" | "notfound" | "limit" | "replay"> {
    const { ref, config, sealed, limit } = registration;
    const reply = await runScript(this.#redis, "push_set", agent, {
      id: taskId,
      ...viewerArgs(viewer),
      ref,
      config: JSON.stringify(config),
      configid: config.id,
      sealed,
      limit,
      keep: this.#keepMs,
      actor,
    });
    return verdictOf(reply).verdict as "ok" | "notfound" | "limit" | "replay";
  }

  /** The viewer's own configs, newest first; undefined where the task is not visible. */
  async list(agent: string, taskId: string, viewer: Viewer): Promise<PushConfigRecord[] | undefined> {
    const args = { id: taskId, ...viewerArgs(viewer) };
    const { verdict, rest } = verdictOf(await runScript(this.#redis, "push_read", agent, args));
    if (verdict !== "ok") return undefined;
    return rest
      .map((text) => JSON.parse(String(text)) as PushConfigRecord)
      .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1));
  }

  /** False where the task is not visible; deleting what is not there is no error (OW-55). */
  async delete(agent: string, taskId: string, viewer: Viewer, id: string, actor: string): Promise<boolean> {
    const args = { id: taskId, ...viewerArgs(viewer), configid: id, actor };
    return verdictOf(await runScript(this.#redis, "push_delete", agent, args)).verdict === "ok";
  }

  /** Destroys all configs of an endpoint, on any task, and what waits for them; answers how many there were (SB-59). */
  async revokeOwner(agent: string, owner: string, actor: string): Promise<number> {
    let total = 0;
    for (;;) {
      const done = Number(await runScript(this.#redis, "push_revoke", agent, { owner, limit: 100, actor }));
      if (done === 0) return total;
      total += done;
    }
  }
}
