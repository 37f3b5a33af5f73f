import { BatonError } from "../domain/errors.ts";
import type { CallRequest, CallResponse } from "../transports/http-handler.ts";
import { sendError } from "./error-response.ts";
import type { ServerLog } from "./log.ts";

type Handler<Q, R> = (request: Q, response: R) => Promise<boolean> | false;

/**
 * Offers a request to each handler in turn; 404 when none takes it. A handler that throws costs its own request and
 * nothing else, and what it threw is logged, never sent (A2A-160).
 */
export function route<Q extends CallRequest, R extends CallResponse>(
  handlers: readonly Handler<Q, R>[],
  log: ServerLog | undefined,
) {
  return async (request: Q, response: R): Promise<void> => {
    try {
      for (const handler of handlers) {
        const taken = handler(request, response);
        // Most handlers see at once that a path is not theirs, and a promise for each would be on every call.
        if (taken !== false && (await taken)) return;
      }
      if ("resume" in request) request.resume();
      sendError(response, new BatonError("RouteNotFound", "no such path"));
    } catch (thrown) {
      const error = BatonError.from(thrown);
      if (error.kind === "Internal") log?.error({ err: error.cause ?? error }, "a request handler failed");
      sendError(response, error);
    }
  };
}
