import { toBinary } from "@bufbuild/protobuf";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  MessageSchema,
  type TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { NEW_RUN, type RunView } from "../domain/openwop/run-fold.ts";
import { metadataBytes, type ProjectedStatus } from "../domain/openwop/run-projection.ts";
import type { RedisConnection, Reply } from "./connection.ts";
import { agentPrefix, negotiationsKey } from "./keys.ts";
import type { PushRegistration } from "./push-configs.ts";
import { runScript, type ScriptArgs, type ScriptName } from "./script.ts";
import { snapshotOf, type TaskSnapshot, type Viewer, verdictOf, viewerArgs } from "./tasks.ts";

/** A run as stored beside its task. Times in milliseconds since the epoch. */
export interface RunRecord {
  /** Run id and task id. */
  readonly id: string;
  readonly owner: string;
  readonly contextId: string;
  readonly state: TaskState;
  readonly view: RunView;
  /** Sequence of the last event taken in; -1 for none. */
  readonly cursor: number;
  /** Counts what was applied; whoever applies more must have seen it all. */
  readonly version: number;
  /** Name of the host credential that reads the run. */
  readonly credential: string;
  readonly interruptKind: string;
  /** Number of the present follower. */
  readonly fence: string;
  readonly updatedAt: number;
  readonly purposes: readonly string[] | undefined;
  readonly artifacts: readonly string[];
}

/** The intent to make a run, stored before the host is asked (OW-20). */
export interface RunIntent {
  readonly contextId: string;
  readonly credential: string;
  /** JSON of the create request, the same on every try. */
  readonly body: string;
  readonly idempotencyKey: string;
  readonly trace: Readonly<Record<string, string>>;
  readonly purposes: readonly string[] | undefined;
}

export interface NewIntent extends RunIntent {
  /** Digest of the message id, unique in the owner. */
  readonly messageKey: string;
  readonly bodyHash: string;
  readonly owner: string;
  readonly scopes: readonly string[];
  readonly queue: string;
  readonly title: string;
  readonly message: Message;
  readonly actor: string;
  readonly historyLength: number;
  readonly push: PushRegistration | undefined;
}

export type IntentResult =
  | { readonly kind: "new" }
  | { readonly kind: "open"; readonly intent: RunIntent }
  | { readonly kind: "replayed"; readonly snapshot: TaskSnapshot }
  | { readonly kind: "mismatch" };

export type CreatedResult =
  | { readonly kind: "created" | "replayed"; readonly snapshot: TaskSnapshot; readonly fence: string }
  | { readonly kind: "gone" }
  | { readonly kind: "taken" };

export interface RunMessage {
  readonly contextId: string;
  readonly message: Message;
  readonly messageKey: string;
  readonly bodyHash: string;
  readonly historyLength: number;
  readonly actor: string;
  readonly push: PushRegistration | undefined;
}

/** What the host is told for a message: the value for the interrupt of one node. */
export interface RunAnswer {
  readonly nodeId: string;
  readonly value: unknown;
}

export type MessageCheck =
  | { readonly kind: "ok"; readonly run: RunRecord }
  | { readonly kind: "pending"; readonly run: RunRecord; readonly answer: RunAnswer }
  | { readonly kind: "replayed"; readonly snapshot: TaskSnapshot }
  | { readonly kind: MessageRefusal };

export type MessageRefusal = "notfound" | "context" | "terminal" | "mismatch";

export type RunChange =
  | { readonly kind: "status"; readonly status: ProjectedStatus; readonly at: number | undefined }
  | { readonly kind: "artifact"; readonly artifact: Artifact };

export type ApplyResult = "ok" | "notfound" | "terminal" | "fenced" | "moved";

/** Longest life of an intent: less than a host keeps its answers to idempotent requests, which is 24 h. */
const INTENT_MS = 23 * 60 * 60 * 1000;

/** Runs and the transitions of their tasks, one script each. */
export class RunStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** `staleMs`: after how long another process may finish the intent. */
  async intend(agent: string, intent: NewIntent, staleMs: number): Promise<IntentResult> {
    const { verdict, rest } = await this.#run("run_intent", agent, {
      msgkey: this.storedKey(agent, intent.owner, intent.messageKey),
      bodyhash: intent.bodyHash,
      owner: intent.owner,
      scopes: JSON.stringify(intent.scopes),
      queue: intent.queue,
      context: intent.contextId,
      title: intent.title,
      message: toBinary(MessageSchema, intent.message),
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

  async created(
    agent: string,
    input: {
      /** From {@link storedKey}. */
      readonly storedKey: string;
      readonly runId: string;
      readonly status: string;
      readonly projected: ProjectedStatus;
      readonly holder: string;
      readonly ttlMs: number;
      readonly historyLength: number;
    },
  ): Promise<CreatedResult> {
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

  /** Adds to the record of agreed versions, which holds no content (OW-9). */
  async auditNegotiation(agent: string, outcome: object): Promise<void> {
    const key = negotiationsKey(agent);
    const fields = Object.entries(outcome).flatMap(([name, value]) => [name, String(value)]);
    await this.#redis.run(key, ["XADD", key, "MAXLEN", "~", "10000", "*", ...fields]);
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

function pushArgs(push: PushRegistration | undefined) {
  if (push === undefined) return { push: "", pushid: "", pushref: "", pushsecret: "" };
  const { config, ref, sealed } = push;
  return { push: JSON.stringify(config), pushid: config.id, pushref: ref, pushsecret: sealed };
}

function changeArgs(change: RunChange): (string | Buffer)[] {
  if (change.kind === "artifact") {
    const { artifact } = change;
    return ["a", artifact.artifactId, Buffer.from(toBinary(ArtifactSchema, artifact)), "", "", ""];
  }
  const { status, at } = change;
  const message = status.message === undefined ? "" : Buffer.from(toBinary(MessageSchema, status.message));
  return [
    "s",
    String(status.state),
    message,
    Buffer.from(metadataBytes(status.metadata)),
    at === undefined ? "" : String(at),
    status.interruptKind ?? "",
  ];
}

function fieldsOf(reply: Reply | undefined): Map<string, Buffer> {
  if (!Array.isArray(reply)) throw new Error("unexpected run in the reply of a script");
  const fields = new Map<string, Buffer>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), reply[i + 1] as Buffer);
  return fields;
}

function recordOf(reply: Reply | undefined): RunRecord {
  const fields = fieldsOf(reply);
  const text = (name: string) => fields.get(name)?.toString() ?? "";
  return {
    id: text("id"),
    owner: text("owner"),
    contextId: text("ctx"),
    state: Number(text("a2a")) as TaskState,
    view: { ...NEW_RUN, ...(JSON.parse(text("run")) as Partial<RunView>) },
    cursor: Number(text("cursor")),
    version: Number(text("rv")),
    credential: text("cred"),
    interruptKind: text("ikind"),
    fence: text("rfence"),
    updatedAt: Number(text("ts") || text("at")),
    purposes: fields.has("purposes") ? (JSON.parse(text("purposes")) as string[]) : undefined,
    artifacts: fields.has("artifacts") ? (JSON.parse(text("artifacts")) as string[]) : [],
  };
}

function intentOf(reply: Reply | undefined): RunIntent {
  const fields = fieldsOf(reply);
  const text = (name: string) => fields.get(name)?.toString() ?? "";
  return {
    contextId: text("ctx"),
    credential: text("cred"),
    body: text("body"),
    idempotencyKey: text("idem"),
    trace: JSON.parse(text("trace") || "{}") as Record<string, string>,
    purposes: text("purposes") === "" ? undefined : (JSON.parse(text("purposes")) as string[]),
  };
}
