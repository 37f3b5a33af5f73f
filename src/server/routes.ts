import { BatonError } from "../domain/errors.ts";
import type { HttpHandler } from "../transports/http-handler.ts";
import { sendError } from "./error-response.ts";
import type { ServerLog } from "./log.ts";

type Request = Parameters<HttpHandler>[0];
type Response = Parameters<HttpHandler>[1];

/**
 * Offers a request to each handler in turn; 404 when none takes it. A handler that throws costs its own request and
 * nothing else, and what it threw is logged, never sent (A2A-160).
 */
export function route(handlers: readonly HttpHandler[], log: ServerLog | undefined) {
  return async (request: Request, response: Response): Promise<void> => {
    try {
      for (const handler of handlers) {
        const taken = handler(request, response);
        // Most handlers see at once that a path is not theirs, and a promise for each would be on every call.
        if (taken !== false && (await taken)) return;
      }
      request.resume();
      sendError(response, new BatonError("RouteNotFound", "no such path"));
    } catch (thrown) {
      const error = BatonError.from(thrown);
      if (error.kind === "Internal") log?.error({ err: error.cause ?? error }, "a request handler failed");
      sendError(response, error);
    }
  };
}
