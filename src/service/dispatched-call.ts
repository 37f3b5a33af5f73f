import { randomUUID } from "node:crypto";
import type { Caller } from "../domain/caller.ts";
import type { TraceContext } from "../domain/trace-context.ts";
import type { Call, ProtocolVersion, RequestMeta, ResponseHeaders, TransportName } from "./call.ts";
import { declaredExtensions } from "./extensions.ts";

/**
 * A call on its way through the Dispatcher. What only streams ask for is looked up when it is asked for: most calls
 * never need a signal, and making one costs as much as their dispatch.
 */
export class DispatchedCall implements Call {
  readonly caller: Caller;
  readonly agent: string;
  readonly version: ProtocolVersion;
  readonly transport: TransportName;
  readonly requestId: string;
  readonly responseHeaders: ResponseHeaders = new Map();
  readonly deadlineAt?: number;
  readonly trace?: TraceContext;
  readonly lastEventId?: string;
  /** Those that the client declared, until the Dispatcher has compared them with those that the agent has. */
  extensions: readonly string[];
  readonly #meta: RequestMeta;

  constructor(
    meta: RequestMeta,
    caller: Caller,
    agent: string,
    version: ProtocolVersion,
    trace: TraceContext | undefined,
  ) {
    this.caller = caller;
    this.agent = agent;
    this.version = version;
    this.transport = meta.transport;
    this.extensions = declaredExtensions(meta);
    this.requestId = meta.requestId ?? randomUUID();
    this.responseHeaders.set("x-request-id", this.requestId);
    this.#meta = meta;
    const lastEventId = meta.header("a2a-last-event-id")?.trim() || meta.header("last-event-id")?.trim();
    if (meta.deadlineAt !== undefined) this.deadlineAt = meta.deadlineAt;
    if (lastEventId) this.lastEventId = lastEventId;
    if (trace !== undefined) this.trace = trace;
  }

  get signal(): AbortSignal {
    return this.#meta.signal;
  }
}
