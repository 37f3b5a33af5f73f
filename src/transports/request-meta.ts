import { randomUUID } from "node:crypto";
import { BatonError } from "../domain/errors.ts";
import type { ProtocolVersion, RequestMeta, TransportName } from "../service/call.ts";
import { clientAddress } from "./forwarded.ts";
import type { CallRequest, CallResponse } from "./http-handler.ts";
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

/** An {@link HttpMeta} whose transport learns the rest while it reads on: route, tenant, and the form that a method has. */
export type OpenHttpMeta = HttpMeta & { form: ProtocolVersion; pathTenant?: string; route?: string };

/** Describes a request. The signal is aborted when the client goes away before its answer is complete. */
export function requestMeta(
  request: CallRequest,
  response: CallResponse,
  options: MetaOptions,
): OpenHttpMeta {
  return new NodeRequestMeta(request, response, options);
}

class NodeRequestMeta implements RequestMeta {
  readonly transport: TransportName;
  readonly requestId: string = randomUUID();
  form: ProtocolVersion;
  pathTenant?: string;
  route?: string;
  readonly #request: CallRequest;
  readonly #response: CallResponse;
  readonly #target: Target;
  #signal: AbortSignal | undefined;

  constructor(request: CallRequest, response: CallResponse, options: MetaOptions) {
    this.transport = options.transport;
    this.form = options.form;
    if (options.pathTenant !== undefined) this.pathTenant = options.pathTenant;
    this.#request = request;
    this.#response = response;
    this.#target = options.target;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  query(name: string): string | undefined {
    return this.#target.query.get(name)?.[0];
  }

  get remoteAddress(): string {
    return clientAddress(this.#request);
  }

  /** Made when it is asked for: most calls are over before anybody would. */
  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#response);
    return this.#signal;
  }
}

/** Made once: without a reason each abort makes a DOMException, stack and all. */
const GONE = new BatonError("Canceled", "the client went away");

function signalOf(response: CallResponse): AbortSignal {
  const controller = new AbortController();
  // Not by `finish`: over HTTP/2 that is emitted for a stream that was reset, too.
  const closed = (): void => {
    if (!response.writableEnded) controller.abort(GONE);
  };
  if (isGone(response)) closed();
  else response.on("close", closed);
  return controller.signal;
}

/** A response over HTTP/2 does not say so itself. */
function isGone(response: CallResponse): boolean {
  return "stream" in response ? response.stream.destroyed : response.destroyed;
}
