import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError, invalidParams } from "../errors.ts";
import type { Interrupt } from "./interrupt.ts";

/** Actions of an approval, as submitted (openwop.md 2.6). */
const ACTIONS = ["accept", "reject", "refine", "edit-accept", "ask"];
const SCOPES = ["whole", "section", "items"];
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  accept: ["feedback"],
  reject: ["feedback"],
  refine: ["refineFeedback"],
  "edit-accept": ["editedArtifactData"],
};
const COMMON = ["action", "decidedAt", "decidedBy"];

const DATA = "message.parts";

/** Who replies, for the host's account of the decision. */
export interface Decider {
  /** The authenticated subject; what the message says of it does not count (OW-29). */
  readonly subject: string;
  readonly now: Date;
}

/** `metadata.openwop` of a message, or an empty object. */
export function openwopMetadata(metadata: JsonObject | undefined): JsonObject {
  const value = metadata?.openwop;
  return isObject(value) ? value : {};
}

/**
 * The resume value that a reply means for an open interrupt. Everything that can be wrong with it is found here, before
 * the host is called. Throws InvalidParams; UnsupportedOperation for a credential, which is given elsewhere.
 */
export function resumeValue(
  interrupt: Interrupt,
  message: Message,
  requestMetadata: JsonObject | undefined,
  decider: Decider,
): JsonValue {
  if (interrupt.kind === "credential") {
    throw new BatonError(
      "UnsupportedOperation",
      "the authorization is given at its own address, not by a message",
    );
  }
  const given = givenValue(message, requestMetadata);
  if (interrupt.kind === "approval") return approval(interrupt, given, decider);
  if (interrupt.kind === "clarification") return clarification(interrupt, given, textOf(message));
  if (interrupt.kind === "external-event") return externalEvent(given);
  const value = given ?? (textOf(message) === "" ? undefined : textOf(message));
  if (value === undefined) throw invalidParams({ field: DATA, description: "must hold an answer" });
  return value;
}

/** `metadata.openwop.interrupt`, else the first data part, else `metadata.openwop.action`. */
function givenValue(message: Message, requestMetadata: JsonObject | undefined): JsonValue | undefined {
  const openwop = openwopMetadata(message.metadata);
  const outer = openwopMetadata(requestMetadata);
  const named = openwop.interrupt ?? outer.interrupt;
  if (named !== undefined) return named;
  for (const part of message.parts) {
    if (part.content.case === "data") return toJson(ValueSchema, part.content.value);
  }
  const action = openwop.action ?? outer.action;
  return action === undefined ? undefined : { action };
}

function textOf(message: Message): string {
  return message.parts
    .map((part) => (part.content.case === "text" ? part.content.value : ""))
    .filter((text) => text !== "")
    .join("\n");
}

function approval(interrupt: Interrupt, given: JsonValue | undefined, decider: Decider): JsonObject {
  if (!isObject(given)) {
    throw invalidParams({ field: DATA, description: "an approval is answered with a data part { action }" });
  }
  const { action, decidedAt } = given;
  const offered = interrupt.actions.length === 0 ? ACTIONS : interrupt.actions;
  if (typeof action !== "string" || !offered.includes(action) || !ACTIONS.includes(action)) {
    throw invalidParams({ field: "action", description: `must be one of ${offered.join(", ")}` });
  }
  const allowed = ALLOWED[action];
  const stray = Object.keys(given).find(
    (key) => allowed !== undefined && ![...COMMON, ...allowed].includes(key),
  );
  if (stray !== undefined) {
    throw invalidParams({ field: stray.slice(0, 64), description: `does not go with the action ${action}` });
  }
  if (action === "refine") checkRefinement(given.refineFeedback);
  if (action === "edit-accept" && given.editedArtifactData === undefined) {
    throw invalidParams({ field: "editedArtifactData", description: "is required with edit-accept" });
  }
  if (given.feedback !== undefined && typeof given.feedback !== "string") {
    throw invalidParams({ field: "feedback", description: "must be a text" });
  }
  const at = typeof decidedAt === "string" ? Date.parse(decidedAt) : Number.NaN;
  return {
    ...given,
    decidedAt: Number.isFinite(at) ? new Date(at).toISOString() : decider.now.toISOString(),
    decidedBy: decider.subject,
  };
}

function checkRefinement(value: JsonValue | undefined): void {
  if (!isObject(value))
    throw invalidParams({ field: "refineFeedback", description: "is required with refine" });
  const { scope, sectionPath, itemIds } = value;
  if (typeof scope !== "string" || !SCOPES.includes(scope)) {
    throw invalidParams({
      field: "refineFeedback.scope",
      description: `must be one of ${SCOPES.join(", ")}`,
    });
  }
  if (scope === "section" && (typeof sectionPath !== "string" || sectionPath === "")) {
    throw invalidParams({
      field: "refineFeedback.sectionPath",
      description: "is required with scope section",
    });
  }
  if (scope === "items" && (!Array.isArray(itemIds) || itemIds.length === 0)) {
    throw invalidParams({ field: "refineFeedback.itemIds", description: "is required with scope items" });
  }
}

/** Answers by question; a plain text answers the only question there is. */
function clarification(interrupt: Interrupt, given: JsonValue | undefined, text: string): JsonObject {
  const { questions } = interrupt;
  if (given === undefined) {
    const [question, ...more] = questions;
    if (text === "" || question === undefined || more.length > 0) {
      throw invalidParams({ field: DATA, description: "must hold { answers: [{ id, answer }] }" });
    }
    return { answers: [{ id: question.id, answer: text }] };
  }
  const answers = isObject(given) ? given.answers : undefined;
  if (!Array.isArray(answers) || answers.length === 0) {
    throw invalidParams({ field: "answers", description: "must hold at least one { id, answer }" });
  }
  const ids = new Set<string>();
  for (const answer of answers) {
    if (!isObject(answer) || typeof answer.id !== "string" || answer.answer === undefined) {
      throw invalidParams({ field: "answers", description: "must hold { id, answer } only" });
    }
    const { id } = answer;
    if (questions.length > 0 && !questions.some((question) => question.id === id)) {
      throw invalidParams({ field: "answers.id", description: "names no open question" });
    }
    if (ids.has(id)) throw invalidParams({ field: "answers.id", description: "answers a question twice" });
    ids.add(id);
  }
  return { answers };
}

function externalEvent(given: JsonValue | undefined): JsonObject {
  if (!isObject(given) || given.eventPayload === undefined) {
    throw invalidParams({ field: DATA, description: "must hold { eventPayload }" });
  }
  return { eventPayload: given.eventPayload };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
