import { randomUUID } from "node:crypto";
import type { ProtocolVersion, RequestMeta, TransportName } from "../service/call.ts";
import { clientAddress } from "./forwarded.ts";
import type { HttpRequest, HttpResponse } from "./http-handler.ts";
import type { Target } from "./target.ts";

export interface MetaOptions {
  readonly transport: TransportName;
  readonly form: ProtocolVersion;
  readonly target: Target;
  /** The decoded tenant segment of the path. */
  readonly pathTenant?: string | undefined;
}

/** What is known of an HTTP request before its body is read. Its request id is on every answer, errors included. */
export type HttpMeta = RequestMeta & { readonly requestId: string };

/** Describes a request. The signal is aborted when the client goes away before its answer is complete. */
export function requestMeta(request: HttpRequest, response: HttpResponse, options: MetaOptions): HttpMeta {
  const { transport, form, target, pathTenant } = options;
  return {
    transport,
    form,
    requestId: randomUUID(),
    header(name) {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    query: (name) => target.query.get(name)?.[0],
    remoteAddress: clientAddress(request),
    signal: signalOf(response),
    ...(pathTenant === undefined ? {} : { pathTenant }),
  };
}

function signalOf(response: HttpResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => {
    // Not by `finish`: over HTTP/2 that is emitted for a stream that was reset, too.
    if (!response.writableEnded) controller.abort();
  });
  return controller.signal;
}
