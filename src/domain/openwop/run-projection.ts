import { create, fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import {
  type Message,
  MessageSchema,
  PartSchema,
  Role,
  type TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Fork } from "./fork.ts";
import type { Interrupt } from "./interrupt.ts";
import type { RunView } from "./run-fold.ts";
import { type RecordState, recordStateOf, taskStateOf } from "./run-status.ts";

export interface ProjectionRules {
  /** The host advertises credential interrupts: only then may a task be AUTH_REQUIRED (RFC 0199). */
  readonly credentialInterrupts: boolean;
  /** Say the message of a failed run's error (`message`), or its code alone (`code`), which holds no text of the host's. */
  readonly failureText: "message" | "code";
}

/** A status of the task, ready for the store. */
export interface ProjectedStatus {
  readonly state: TaskState;
  readonly message: Message | undefined;
  /** `metadata` of the status update and of the Task. */
  readonly metadata: JsonObject;
  /** `interruptKind` of the record; undefined: absent. */
  readonly interruptKind: "approval" | "clarification" | undefined;
}

/** Longest text of a failure, in characters. */
const MAX_FAILURE = 500;

/**
 * What a client sees of a run (OW-16). `messageId` must be unique in the task. Only the keys named in openwop.md 2.4
 * cross; an interrupt's token never does.
 */
export function projectStatus(
  view: RunView,
  rules: ProjectionRules,
  input: {
    readonly messageId: string;
    readonly errorText: string;
    readonly permittedPurposes: readonly string[] | undefined;
    readonly fork?: Fork | undefined;
  },
): ProjectedStatus {
  const { interrupt } = view;
  const credential = rules.credentialInterrupts && interrupt?.kind === "credential";
  const state = taskStateOf(view.status, credential);
  const text = statusText(view, rules, input.errorText);
  return {
    state,
    message: text === "" ? undefined : agentMessage(input.messageId, text),
    metadata: metadataOf(view, input.permittedPurposes, input.fork),
    interruptKind: recordKind(view),
  };
}

/** `metadata` as google.protobuf.Struct bytes; empty where there is nothing to say. */
export function metadataBytes(metadata: JsonObject): Uint8Array {
  if (Object.keys(metadata).length === 0) return new Uint8Array();
  return toBinary(StructSchema, fromJson(StructSchema, metadata));
}

function metadataOf(
  view: RunView,
  purposes: readonly string[] | undefined,
  fork: Fork | undefined,
): JsonObject {
  const { interrupt, errorCode } = view;
  const openwop: JsonObject = {
    ...(interrupt === undefined ? {} : { interrupt: interruptMetadata(interrupt) }),
    ...(errorCode === "" ? {} : { error: { code: errorCode } }),
    ...(purposes === undefined ? {} : { permittedPurposes: [...purposes] }),
    ...(fork === undefined ? {} : { fork: { mode: fork.mode, sourceTaskId: fork.sourceTaskId } }),
  };
  return Object.keys(openwop).length === 0 ? {} : { openwop };
}

function interruptMetadata(interrupt: Interrupt): JsonObject {
  const { kind, nodeId, actions, title } = interrupt;
  return {
    kind,
    ...(nodeId === "" ? {} : { nodeId }),
    ...(actions.length === 0 ? {} : { actions: [...actions] }),
    ...(title === "" ? {} : { title }),
  };
}

/** The record has a word for two kinds only (openwop.md 2.3). */
function recordKind({ status, interrupt }: RunView): "approval" | "clarification" | undefined {
  if (status === "waiting-approval") return "approval";
  return status === "waiting-input" && interrupt?.kind !== "credential" ? "clarification" : undefined;
}

function statusText(view: RunView, rules: ProjectionRules, errorText: string): string {
  const { status, interrupt, errorCode } = view;
  if (status === "paused") return "The run is paused.";
  if (status === "failed") {
    const told = rules.failureText === "message" ? failureText(errorText) : "";
    if (told !== "") return told;
    return errorCode === "" ? "The run failed." : `The run failed: ${errorCode}.`;
  }
  return interrupt === undefined ? "" : question(interrupt);
}

/** The first line of a run's error message: stack lines and control characters never cross. */
function failureText(text: string): string {
  const line = text.split(/[\r\n\u2028\u2029]/).find((candidate) => candidate.trim() !== "") ?? "";
  return line
    .replace(/\p{Cc}/gu, " ")
    .trim()
    .slice(0, MAX_FAILURE);
}

function question(interrupt: Interrupt): string {
  const { kind, title, questions, actions, eventType, provider, connectUrl } = interrupt;
  if (questions.length > 0) return questions.map((item) => item.question || item.id).join("\n");
  if (kind === "external-event")
    return `Waiting for an external event${eventType === "" ? "." : `: ${eventType}.`}`;
  if (kind === "credential") {
    const whom = provider === "" ? "a provider" : provider;
    return `Authorization at ${whom} is needed${connectUrl === "" ? "." : `: ${connectUrl}`}`;
  }
  const what = title === "" ? (kind === "approval" ? "Approval is needed." : "Input is needed.") : title;
  return actions.length === 0 ? what : `${what}\nActions: ${actions.join(", ")}`;
}

function agentMessage(messageId: string, text: string): Message {
  return create(MessageSchema, {
    messageId,
    role: Role.AGENT,
    parts: [create(PartSchema, { content: { case: "text", value: text } })],
  });
}

/** The persisted record of a run-backed task, A2ATaskState (OW-10, OW-11): a closed object without any content. */
export interface TaskRecord {
  readonly taskId: string;
  readonly runId: string;
  readonly state: RecordState;
  /** ISO 8601, UTC. */
  readonly updatedAt: string;
  readonly contextId?: string;
  readonly interruptKind?: "approval" | "clarification";
}

export function taskRecord(input: {
  readonly runId: string;
  readonly contextId: string;
  readonly state: TaskState;
  readonly interruptKind: string;
  readonly updatedMs: number;
}): TaskRecord {
  const { runId, contextId, interruptKind } = input;
  const state = recordStateOf(input.state);
  const kind = interruptKind === "approval" || interruptKind === "clarification" ? interruptKind : undefined;
  return {
    taskId: runId,
    runId,
    state,
    updatedAt: new Date(input.updatedMs).toISOString(),
    ...(contextId === "" ? {} : { contextId }),
    ...(state !== "input-required" || kind === undefined ? {} : { interruptKind: kind }),
  };
}
