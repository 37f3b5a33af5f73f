import { toBinary } from "@bufbuild/protobuf";
import { MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { NEW_RUN, type RunView } from "../domain/openwop/run-fold.ts";
import { metadataBytes } from "../domain/openwop/run-projection.ts";
import { fillableBytes, TASK_BYTES } from "../domain/task-size.ts";
import type { RedisConnection } from "./connection.ts";
import { agentPrefix } from "./keys.ts";
import {
  type ApplyResult,
  type CreatedResult,
  changeArgs,
  fieldsOf,
  type IntentResult,
  intentOf,
  type MessageCheck,
  type MessageRefusal,
  type NewIntent,
  type NewRun,
  pushArgs,
  type RunAnswer,
  type RunChange,
  type RunIntent,
  type RunMessage,
  type RunRecord,
  recordOf,
} from "./run-records.ts";
import { runScript, type ScriptArgs, type ScriptName } from "./script.ts";
import { snapshotOf, verdictOf } from "./tasks.ts";
import { type Viewer, viewerArgs } from "./viewer.ts";

/** Longest life of an intent: less than a host keeps its answers to idempotent requests, which is 24 h. */
const INTENT_MS = 23 * 60 * 60 * 1000;

/** Runs and the transitions of their tasks, one script each. */
export class RunStore {
  readonly #redis: RedisConnection;

  /** Bytes of the largest task. */
  readonly taskBytes: number;

  /** `taskBytes`: default {@link TASK_BYTES}. */
  constructor(redis: RedisConnection, options: { readonly taskBytes?: number } = {}) {
    this.#redis = redis;
    this.taskBytes = options.taskBytes ?? TASK_BYTES;
  }

  /** `staleMs`: after how long another process may finish the intent. */
  async intend(agent: string, intent: NewIntent, staleMs: number): Promise<IntentResult> {
    const message = toBinary(MessageSchema, intent.message);
    if (message.length > fillableBytes(this.taskBytes)) return { kind: "full" };
    const { verdict, rest } = await this.#run("run_intent", agent, {
      msgkey: this.storedKey(agent, intent.owner, intent.messageKey),
      bodyhash: intent.bodyHash,
      owner: intent.owner,
      scopes: JSON.stringify(intent.scopes),
      queue: intent.queue,
      context: intent.contextId,
      title: intent.title,
      message,
      cred: intent.credential,
      body: intent.body,
      idem: intent.idempotencyKey,
      trace: JSON.stringify(intent.trace),
      purposes: intent.purposes === undefined ? "" : JSON.stringify(intent.purposes),
      actor: intent.actor,
      life: INTENT_MS,
      stale: staleMs,
      history: intent.historyLength,
      ...pushArgs(intent.push),
    });
    switch (verdict) {
      case "new":
        return { kind: "new" };
      case "open":
        return { kind: "open", intent: intentOf(rest[0]) };
      case "replay":
        return { kind: "replayed", snapshot: snapshotOf(rest) };
      default:
        return { kind: "mismatch" };
    }
  }

  /** Names the intent of a message in the store. */
  storedKey(agent: string, owner: string, messageKey: string): string {
    return `${agentPrefix(agent)}msg:${owner}:${messageKey}`;
  }

  async created(agent: string, input: NewRun): Promise<CreatedResult> {
    const { verdict, rest } = await this.#run("run_created", agent, {
      msgkey: input.storedKey,
      runid: input.runId,
      state: input.projected.state,
      view: JSON.stringify({ ...NEW_RUN, status: input.status }),
      meta: metadataBytes(input.projected.metadata),
      holder: input.holder,
      ttl: input.ttlMs,
      history: input.historyLength,
    });
    if (verdict === "gone" || verdict === "taken") return { kind: verdict };
    const kind = verdict === "ok" ? "created" : "replayed";
    return { kind, snapshot: snapshotOf(rest), fence: String(rest[3]) };
  }

  /** Takes an intent back. `storedKey`: from {@link storedKey}. */
  async drop(agent: string, storedKey: string): Promise<void> {
    await runScript(this.#redis, "run_drop", agent, { msgkey: storedKey });
  }

  /** The run, or undefined where it does not exist or the viewer may not see it. Without a viewer: for Baton itself. */
  async read(agent: string, id: string, viewer?: Viewer): Promise<RunRecord | undefined> {
    const { verdict, rest } = await this.#run("run_read", agent, {
      id,
      internal: viewer === undefined,
      ...viewerArgs(viewer ?? { id: "", shared: false, queues: [] }),
    });
    return verdict === "ok" ? recordOf(rest[0]) : undefined;
  }

  /** What stands against a message, before the host is called. `pending`: it was told before, and how that ended is open. */
  async checkMessage(agent: string, id: string, viewer: Viewer, input: RunMessage): Promise<MessageCheck> {
    const { verdict, rest } = await this.#message(agent, id, viewer, input, "check");
    if (verdict === "ok") return { kind: "ok", run: recordOf(rest[0]) };
    if (verdict === "pending") {
      return { kind: "pending", run: recordOf(rest[0]), answer: JSON.parse(String(rest[1])) as RunAnswer };
    }
    if (verdict === "replay") return { kind: "replayed", snapshot: snapshotOf(rest) };
    return { kind: verdict as MessageRefusal };
  }

  /** Keeps what the host is about to be told, so that a retry says the same, whatever became of the run meanwhile. */
  async beginMessage(
    agent: string,
    id: string,
    viewer: Viewer,
    input: RunMessage,
    answer: RunAnswer,
  ): Promise<void> {
    await this.#message(agent, id, viewer, input, "begin", answer);
  }

  /** Makes a message that the host took part of the task's history. */
  async addMessage(agent: string, id: string, viewer: Viewer, input: RunMessage): Promise<void> {
    await this.#message(agent, id, viewer, input, "commit");
  }

  /** Forgets a message that the host refused. */
  async dropMessage(agent: string, id: string, viewer: Viewer, input: RunMessage): Promise<void> {
    await this.#message(agent, id, viewer, input, "drop");
  }

  /**
   * Applies what events of the run changed, together with the new view and cursor. `record` is what the caller read
   * before it looked at the events; `fence` is undefined for a reader that does not follow the run.
   */
  async apply(
    agent: string,
    record: Pick<RunRecord, "id" | "version">,
    input: {
      readonly fence: string | undefined;
      readonly cursor: number;
      readonly view: RunView;
      readonly changes: readonly RunChange[];
      readonly actor: string;
    },
  ): Promise<ApplyResult> {
    const { verdict } = await this.#run(
      "run_apply",
      agent,
      {
        id: record.id,
        fence: input.fence ?? "",
        rv: record.version,
        cursor: input.cursor,
        view: JSON.stringify(input.view),
        actor: input.actor,
        cap: fillableBytes(this.taskBytes),
        notice: `Left out: it would have made the task larger than ${fillableBytes(this.taskBytes)} bytes.`,
      },
      input.changes.flatMap(changeArgs),
    );
    return verdict as ApplyResult;
  }

  /** Takes runs without a follower and intents that nobody finished. */
  async take(
    agent: string,
    holder: string,
    ttlMs: number,
    limit: number,
  ): Promise<{
    readonly runs: readonly RunRecord[];
    readonly intents: readonly (RunIntent & { readonly storedKey: string })[];
  }> {
    const reply = await runScript(this.#redis, "run_take", agent, { holder, ttl: ttlMs, limit });
    const [runs, intents] = Array.isArray(reply) ? reply : [];
    return {
      runs: Array.isArray(runs) ? runs.map(recordOf) : [],
      intents: Array.isArray(intents)
        ? intents.map((item) => ({
            ...intentOf(item),
            storedKey: fieldsOf(item).get("msgkey")?.toString() ?? "",
          }))
        : [],
    };
  }

  /** Keeps runs; answers the ids that are somebody else's now. */
  async renew(
    agent: string,
    holder: string,
    ttlMs: number,
    held: ReadonlyMap<string, string>,
  ): Promise<string[]> {
    return this.#lease(agent, holder, ttlMs, false, held);
  }

  /** Gives runs back, to be taken by anybody after `delayMs`. */
  async release(
    agent: string,
    holder: string,
    delayMs: number,
    held: ReadonlyMap<string, string>,
  ): Promise<void> {
    await this.#lease(agent, holder, delayMs, true, held);
  }

  /** Ended runs that were not looked for on their host for a while. */
  async ended(
    agent: string,
    intervalMs: number,
    limit: number,
  ): Promise<{ id: string; credential: string }[]> {
    const reply = await runScript(this.#redis, "run_ended", agent, { interval: intervalMs, limit });
    const flat = Array.isArray(reply) ? reply.map(String) : [];
    const found: { id: string; credential: string }[] = [];
    for (let i = 0; i + 1 < flat.length; i += 2)
      found.push({ id: flat[i] ?? "", credential: flat[i + 1] ?? "" });
    return found;
  }

  async purge(agent: string, id: string): Promise<void> {
    await runScript(this.#redis, "run_purge", agent, { id });
  }

  async #message(
    agent: string,
    id: string,
    viewer: Viewer,
    input: RunMessage,
    step: "check" | "begin" | "commit" | "drop",
    answer?: RunAnswer,
  ) {
    return this.#run("run_message", agent, {
      id,
      step,
      answer: answer === undefined ? "" : JSON.stringify(answer),
      ...viewerArgs(viewer),
      context: input.contextId,
      message: toBinary(MessageSchema, input.message),
      msgkey: this.storedKey(agent, viewer.id, input.messageKey),
      bodyhash: input.bodyHash,
      history: input.historyLength,
      actor: input.actor,
      ...pushArgs(input.push),
      pushlimit: input.push?.limit ?? 0,
      cap: fillableBytes(this.taskBytes),
    });
  }

  async #lease(
    agent: string,
    holder: string,
    ttlMs: number,
    release: boolean,
    held: ReadonlyMap<string, string>,
  ): Promise<string[]> {
    if (held.size === 0) return [];
    const lost: string[] = [];
    const entries = [...held];
    for (let i = 0; i < entries.length; i += 500) {
      const pairs = entries.slice(i, i + 500).flat();
      const reply = await runScript(this.#redis, "run_lease", agent, { holder, ttl: ttlMs, release }, pairs);
      if (Array.isArray(reply)) lost.push(...reply.map(String));
    }
    return lost;
  }

  async #run(name: ScriptName, agent: string, args: ScriptArgs, rest: readonly (string | Buffer)[] = []) {
    return verdictOf(await runScript(this.#redis, name, agent, args, rest));
  }
}
