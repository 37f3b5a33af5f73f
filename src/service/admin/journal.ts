/** Writes down what operators do: around every call on the admin port that may change something, in one place. */
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Caller } from "../../domain/caller.ts";
import { BatonError, type ErrorKind } from "../../domain/errors.ts";
import type { AdminAction, AdminAuditStore } from "../../store/admin-audit.ts";
import { scrub } from "../../telemetry/log-fields.ts";
import type { AroundCall } from "../answer.ts";

/** Methods that change nothing, by the start of their names. */
const READS = /^(Get|List|Search)[A-Z]/;

/** Fields of requests that say what was done to what. What is not listed here is never written down. */
const TARGET_FIELDS = ["id", "name"] as const;
const DETAIL_FIELDS = ["name", "queues", "verbs", "ids", "since", "messageId"] as const;

/** What an answer made, where the request could not name it. */
const MADE_FIELDS = ["endpoint", "grant"] as const;

const MAX_TEXT = 200;
const MAX_REASON = 500;

/** Errors after which nobody knows whether something changed. */
const UNSURE: ReadonlySet<ErrorKind> = new Set([
  "Internal",
  "Unavailable",
  "DeadlineExceeded",
  "Canceled",
  "StreamInterrupted",
]);

export interface JournalOptions {
  /** The outcome of an action could not be written. */
  onError(error: unknown): void;
  /**
   * Charges a caller for an entry; answers 0, or how many milliseconds to wait. The journal holds a bounded number of
   * entries, so whoever could write any number would push out what others did.
   */
  charge(caller: Caller): Promise<number>;
}

/**
 * Writes an entry before the action and puts the outcome in its place after it, so that a crash in between leaves a trace.
 * An action that cannot be written down is not done; nor is one beyond what its caller may do in a while (RateLimited).
 */
export function createJournal(audit: AdminAuditStore, { onError, charge }: JournalOptions): AroundCall {
  return async (about, run) => {
    if (!isWrittenDown(about.method)) return run();
    const retryAfterMs = await charge(about.caller);
    if (retryAfterMs > 0) throw new BatonError("RateLimited", "too many actions", { retryAfterMs });
    const action = actionOf(about);
    const begun = await audit.begin(action);
    const end = async (outcome: Partial<AdminAction>): Promise<void> => {
      await audit.end(begun, { ...action, ...outcome }).catch(onError);
    };
    try {
      const result = await run();
      const made = madeBy(result.message);
      await end({ outcome: "ok", ...(made === "" ? {} : { target: made }) });
      return result;
    } catch (thrown) {
      const { kind } = BatonError.from(thrown);
      await end({ outcome: UNSURE.has(kind) ? "failed" : "refused", error: kind });
      throw thrown;
    }
  };
}

/** Whether a method may change something. One whose name does not tell is taken to. */
export function isWrittenDown(method: DescMethod): boolean {
  return !READS.test(method.name);
}

function actionOf(about: {
  readonly method: DescMethod;
  readonly request: Message;
  readonly caller: Caller;
  readonly requestId: string;
}): AdminAction {
  const { method, request, caller, requestId } = about;
  const read = (name: string): unknown => fieldOf(request, name);
  const target = TARGET_FIELDS.map(read).find((value) => typeof value === "string" && value !== "");
  const scope = read("scope");
  const details: Record<string, string> = {};
  for (const name of DETAIL_FIELDS) {
    const value = read(name) ?? (isMessage(scope) ? fieldOf(scope, name) : undefined);
    const text = name === "ids" ? countOf(value) : textOf(value);
    if (text !== "") details[name] = text;
  }
  return {
    operator: caller.name,
    action: `${method.parent.typeName}/${method.name}`,
    agent: textOf(read("agent")),
    target: textOf(target),
    reason: textOf(read("reason"), MAX_REASON),
    requestId: textOf(requestId),
    details,
  };
}

function isMessage(value: unknown): value is Message {
  return typeof value === "object" && value !== null && "$typeName" in value;
}

function fieldOf(message: Message, name: string): unknown {
  return Object.hasOwn(message, name) ? (message as Message & Record<string, unknown>)[name] : undefined;
}

function countOf(value: unknown): string {
  return Array.isArray(value) && value.length > 0 ? String(value.length) : "";
}

/** A text that is safe to keep: nothing that reads like a credential, on one line, and no longer than it need be. */
function textOf(value: unknown, max = MAX_TEXT): string {
  if (Array.isArray(value)) return textOf(value.slice(0, 20).map(String).join(", "), max);
  if (isMessage(value) && value.$typeName === "google.protobuf.Timestamp") {
    // In the binary form it may lie beyond every date.
    const date = new Date(Number(fieldOf(value, "seconds")) * 1000);
    return Number.isNaN(date.getTime()) ? "" : date.toISOString();
  }
  if (typeof value !== "string") return "";
  // Scrubbed before it is cut: half a credential may not look like one.
  const line = scrub(value.slice(0, 4 * MAX_REASON)).replace(/\p{Cc}+/gu, " ");
  return line.length <= max ? line : `${line.slice(0, max)}…`;
}

function madeBy(answer: Message): string {
  for (const name of MADE_FIELDS) {
    const made = fieldOf(answer, name);
    if (isMessage(made)) return textOf(fieldOf(made, "id"));
  }
  return "";
}
