import { toBinary } from "@bufbuild/protobuf";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  MessageSchema,
  type TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Fork } from "../domain/openwop/fork.ts";
import { NEW_RUN, type RunView } from "../domain/openwop/run-fold.ts";
import { metadataBytes, type ProjectedStatus } from "../domain/openwop/run-projection.ts";
import type { Reply } from "./connection.ts";
import type { PushRegistration } from "./push-configs.ts";
import type { TaskSnapshot } from "./tasks.ts";

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
  /** Set for a run that was forked through Baton. */
  readonly fork: Fork | undefined;
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
  | { readonly kind: "mismatch" }
  | { readonly kind: "full" };

/** A run that its host has started. */
export interface NewRun {
  /** Of the intent, from `RunStore.storedKey`. */
  readonly storedKey: string;
  readonly runId: string;
  readonly status: string;
  readonly projected: ProjectedStatus;
  readonly holder: string;
  readonly ttlMs: number;
  readonly historyLength: number;
}

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

export type MessageRefusal = "notfound" | "context" | "terminal" | "mismatch" | "full";

export type RunChange =
  | { readonly kind: "status"; readonly status: ProjectedStatus; readonly at: number | undefined }
  | { readonly kind: "artifact"; readonly artifact: Artifact };

export type ApplyResult = "ok" | "notfound" | "terminal" | "fenced" | "moved";

/** The push arguments of a script; empty for no config. */
export function pushArgs(push: PushRegistration | undefined) {
  if (push === undefined) return { push: "", pushid: "", pushref: "", pushsecret: "" };
  const { config, ref, sealed } = push;
  return { push: JSON.stringify(config), pushid: config.id, pushref: ref, pushsecret: sealed };
}

/** Six arguments for each change, as run_apply.lua reads them. */
export function changeArgs(change: RunChange): (string | Buffer)[] {
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

/** Flat pairs of a script as a map. */
export function fieldsOf(reply: Reply | undefined): Map<string, Buffer> {
  if (!Array.isArray(reply)) throw new Error("unexpected run in the reply of a script");
  const fields = new Map<string, Buffer>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), reply[i + 1] as Buffer);
  return fields;
}

export function recordOf(reply: Reply | undefined): RunRecord {
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
    fork: fields.has("fork") ? (JSON.parse(text("fork")) as Fork) : undefined,
  };
}

export function intentOf(reply: Reply | undefined): RunIntent {
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
