import { ErrorReply } from "redis";
import { BatonError } from "../domain/errors.ts";

/** What to do about an answer of a server that is not the one for the command. */
type Redirect =
  /** The slot lives there now: learn the topology anew. */
  | { readonly kind: "moved"; readonly address: string }
  /** This one command goes there, after ASKING. */
  | { readonly kind: "ask"; readonly address: string }
  /** Nothing ran; the same command may be tried again in a moment. */
  | { readonly kind: "wait" };

/** Error codes of a server that did not run the command because of its role or state. */
const NOT_NOW = new Set([
  "READONLY",
  "LOADING",
  "MASTERDOWN",
  "CLUSTERDOWN",
  "TRYAGAIN",
  "NOREPLICAS",
  "BUSY",
]);

export function codeOf(error: unknown): string {
  return error instanceof ErrorReply ? (error.message.split(" ", 1)[0] ?? "") : "";
}

/** Reads a refusal that says where or when the command would run; undefined for any other error. */
export function redirectOf(error: unknown): Redirect | undefined {
  const code = codeOf(error);
  if (NOT_NOW.has(code)) return { kind: "wait" };
  if ((code !== "MOVED" && code !== "ASK") || !(error instanceof Error)) return undefined;
  const address = error.message.split(" ")[2] ?? "";
  return { kind: code === "MOVED" ? "moved" : "ask", address };
}

/** Codes with which a server refuses all writes, or everything, for now. */
const OUT_OF_ORDER = new Set([...NOT_NOW, "MISCONF", "OOM"]);

/**
 * What a caller is told where the store cannot do its work now: Unavailable, and to try again. A command that was under
 * way may have run; the same message id sent again finds what it did (A2A-44). Other errors are passed on.
 */
export function storeFault(error: unknown): unknown {
  if (error instanceof BatonError) return error;
  if (error instanceof ErrorReply && !OUT_OF_ORDER.has(codeOf(error))) return error;
  return storeUnavailable(error);
}

export function storeUnavailable(cause: unknown): BatonError {
  return new BatonError("Unavailable", "the store does not answer; try again", { retryAfterMs: 1000, cause });
}
