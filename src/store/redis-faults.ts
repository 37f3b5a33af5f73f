import { ErrorReply } from "redis";
import { BatonError } from "../domain/errors.ts";

/**
 * What to do about an answer of a server that is not the one for the command. `moved`: the slot lives elsewhere now, so
 * learn the topology anew. `wait`: nothing ran; the same command may be tried again in a moment.
 */
type Redirect = "moved" | "wait";

/**
 * Error codes of a server that did not run the command because of its role or state. ASK is one of them: the slot is on its
 * way to another server, and each of the two has some of its keys. A script that ran there now would find half an agent: a
 * task that is not there, an index that is empty, and what it wrote would stand in the way of the keys to come.
 */
const NOT_NOW = new Set([
  "READONLY",
  "LOADING",
  "MASTERDOWN",
  "CLUSTERDOWN",
  "TRYAGAIN",
  "NOREPLICAS",
  "BUSY",
  "ASK",
]);

export function codeOf(error: unknown): string {
  return error instanceof ErrorReply ? (error.message.split(" ", 1)[0] ?? "") : "";
}

/** Reads a refusal that says where or when the command would run; undefined for any other error. */
export function redirectOf(error: unknown): Redirect | undefined {
  const code = codeOf(error);
  if (NOT_NOW.has(code)) return "wait";
  return code === "MOVED" ? "moved" : undefined;
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
