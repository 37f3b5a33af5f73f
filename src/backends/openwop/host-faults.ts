import { BatonError, invalidParams, taskNotFound } from "../../domain/errors.ts";
import { HostRefusal } from "./client/errors.ts";

/** What was asked of the host. */
export type HostCall = "create" | "resolve" | "cancel" | "read";

/**
 * What a client is told of a host's failure: fixed words, never the host's (OW-35). Runs that the host hides and runs
 * that it does not have are one answer (OW-26).
 */
export function clientError(thrown: unknown, call: HostCall, taskId: string): BatonError {
  if (thrown instanceof BatonError) return thrown;
  const options = { cause: thrown };
  if (!(thrown instanceof HostRefusal)) {
    return new BatonError("Unavailable", "the agent's host does not answer; try again", options);
  }
  const { status, code, retryAfterMs } = thrown;
  if (status === 429 || code === "run_already_active") {
    return new BatonError("RateLimited", "the agent's host is busy; try again later", {
      ...options,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }
  if (status === 401 || status >= 500 || code === "idempotency_in_flight") {
    return new BatonError("Unavailable", "the agent's host does not take the call; try again", options);
  }
  if (call === "create") return createError(status, code, options);
  if (code === "run_forbidden" || code === "id_tenant_mismatch" || code === "not_found")
    return taskNotFound(taskId);
  if (status === 403) return new BatonError("Forbidden", "the caller may not do this to the task", options);
  if (status === 400) {
    return call === "resolve"
      ? invalidParams({ field: "message", description: "is not an answer that the agent's host takes" })
      : new BatonError("UnsupportedOperation", "the agent's host does not offer this", options);
  }
  if (status === 404 && call !== "resolve") return taskNotFound(taskId);
  return new BatonError("UnsupportedOperation", "the task no longer waits for this", {
    ...options,
    metadata: { taskId },
  });
}

function createError(status: number, code: string, options: { readonly cause: unknown }): BatonError {
  if (status === 400 || (status === 422 && code !== "capability_required")) {
    return invalidParams({
      field: "message",
      description: "is not an input that the agent's workflow takes",
    });
  }
  if (status === 403) return new BatonError("Forbidden", "the caller may not start this work", options);
  return new BatonError("UnsupportedOperation", "the agent's host does not offer this work", options);
}
