import type { Dispatcher } from "undici";
import { traceHeadersOf } from "../../../domain/trace-context.ts";
import { activeSpan, inChildSpan } from "../../../telemetry/tracing/active.ts";
import { HostRefusal } from "./errors.ts";
import { pathTemplate } from "./run-path.ts";

/**
 * Makes a request to a host. For a client's call that is traced it is a span of its own, and `make` gets the headers by
 * which the host may go on from it. Work that belongs to no call, such as following a run, is not traced.
 */
export async function tracedRequest(
  method: "GET" | "POST",
  origin: string,
  path: string,
  make: (headers: Readonly<Record<string, string>>) => Promise<Dispatcher.ResponseData>,
): Promise<Dispatcher.ResponseData> {
  if (activeSpan() === undefined) return make({});
  const template = pathTemplate(path);
  const { hostname, port, protocol } = new URL(origin);
  const attributes = {
    "http.request.method": method,
    "url.template": template,
    "server.address": hostname,
    "server.port": Number(port || (protocol === "https:" ? 443 : 80)),
  };
  return inChildSpan(`${method} ${template}`, { kind: "client", attributes }, async (span) => {
    try {
      const response = await make(traceHeadersOf(span?.context));
      span?.set({ "http.response.status_code": response.statusCode });
      return response;
    } catch (error) {
      if (error instanceof HostRefusal) span?.set({ "http.response.status_code": error.status });
      throw error;
    }
  });
}
