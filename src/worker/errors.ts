import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";

/**
 * Throw it from a handler when another attempt cannot help: the todo becomes a dead letter at once and the task
 * fails. Any other error spends one attempt and lets the retry policy decide.
 */
export class PermanentFailure extends Error {
  override readonly name = "PermanentFailure";
}

/**
 * Why a handler should stop:
 * - `canceled`: the client or an operator canceled the task (SB-40);
 * - `ended`: the todo ended without this worker, such as by revocation or an unanswered question;
 * - `lease-lost`: the lease ran out, or another worker holds the todo now (SB-16);
 * - `shutdown`: the worker is stopping and its grace is used up.
 */
export type StopReason = "canceled" | "ended" | "lease-lost" | "shutdown";

const STOP_TEXT: Readonly<Record<StopReason, string>> = {
  canceled: "the task was canceled",
  ended: "the todo ended without this worker",
  "lease-lost": "the lease of the todo is lost",
  shutdown: "the worker is stopping",
};

/** Reason of `context.signal`, and what the context's calls reject with once it is aborted. */
export class HandlerStopped extends Error {
  override readonly name = "HandlerStopped";
  readonly why: StopReason;

  constructor(why: StopReason) {
    super(STOP_TEXT[why]);
    this.why = why;
  }
}

/** The context was used after the handler ended, or after it had given the todo an outcome. A fault of the handler. */
export class AlreadySettled extends Error {
  override readonly name = "AlreadySettled";

  constructor() {
    super("the todo already has its outcome; nothing more can be done with this context");
  }
}

/** What an error of a call means for whoever made it. */
export type Verdict =
  /** The gateway is away or busy; the same call may succeed later. */
  | "again"
  /** The todo's state, holder or fence does not permit it (`CONFLICT`), or the todo is gone (`NOT_FOUND`). */
  | "conflict"
  /** The credential is not accepted or not granted this. No retry helps. */
  | "denied"
  /** The request itself is at fault. */
  | "refused";

const PASSING = new Set([
  "UNAVAILABLE",
  "STREAM_INTERRUPTED",
  "RATE_LIMITED",
  "DEADLINE_EXCEEDED",
  "INTERNAL_ERROR",
  "CANCELED",
]);
const DENIED = new Set([Code.Unauthenticated, Code.PermissionDenied]);
const REFUSED = new Set([Code.InvalidArgument, Code.Unimplemented, Code.OutOfRange, Code.FailedPrecondition]);

/**
 * Judges an error by what the gateway said of it. A cut connection comes up under many codes, ABORTED among them, so a
 * code alone proves little: only an error with an ErrorInfo was certainly the gateway's word.
 */
export function verdictOf(thrown: unknown): Verdict {
  const error = ConnectError.from(thrown);
  const reason = error.findDetails(ErrorInfoSchema)[0]?.reason;
  if (DENIED.has(error.code)) return "denied";
  if (error.code === Code.NotFound) return reason === undefined ? "refused" : "conflict";
  if (reason === "CONFLICT") return "conflict";
  if (REFUSED.has(error.code)) return "refused";
  if (reason !== undefined && !PASSING.has(reason)) return "refused";
  return "again";
}
