import type { Caller } from "../domain/caller.ts";
import { type TraceContext, traceContextOf, traceIdOf } from "../domain/trace-context.ts";
import type { CallObserver, Outcome } from "../telemetry/calls.ts";
import { runInSpan } from "../telemetry/tracing/active.ts";
import { endServerSpan, startServerSpan } from "../telemetry/tracing/server-span.ts";
import type { Tracer, TraceSpan } from "../telemetry/tracing/span.ts";
import type { Call, RequestMeta } from "./call.ts";

export interface ObservedMethod {
  /** `package.Service/Method`. */
  readonly method: string;
  readonly stream: boolean;
  /** Known where the transport authenticated before it read the request. */
  readonly caller?: Caller | undefined;
}

/** Who is told of calls; both absent: nobody. */
export interface Observers {
  readonly observe?: CallObserver | undefined;
  readonly tracer?: Tracer | undefined;
}

/** Measures one call from its dispatch on, and tells the observer of its end once. With a tracer it is a span, too. */
export class ObservedCall {
  /** Absent: the call is not traced. */
  readonly span: TraceSpan | undefined;
  readonly #observe: CallObserver | undefined;
  readonly #meta: RequestMeta;
  readonly #method: ObservedMethod;
  readonly #begun = performance.now();
  #call: Call | undefined;
  #ended = false;

  constructor({ observe, tracer }: Observers, meta: RequestMeta, method: ObservedMethod) {
    this.#observe = observe;
    this.#meta = meta;
    this.#method = method;
    if (tracer !== undefined) {
      const { transport, route } = meta;
      this.span = startServerSpan(tracer, { method: method.method, transport, route }, tracedBy(meta));
    }
  }

  /** Agent, caller and version are known now. */
  prepared(call: Call): void {
    this.#call = call;
  }

  end(outcome: Outcome): void {
    if (this.#ended) return;
    this.#ended = true;
    const { method, stream, caller } = this.#method;
    const { transport, form, requestId = "" } = this.#meta;
    const call = this.#call;
    const agent = call?.agent ?? caller?.agent ?? "";
    const id = call?.requestId ?? requestId;
    if (this.span !== undefined) {
      endServerSpan(this.span, outcome, { "baton.agent": agent, "baton.request.id": id });
    }
    if (this.#observe === undefined) return;
    const trace = this.span?.context ?? tracedBy(this.#meta);
    this.#observe({
      method,
      stream,
      transport,
      agent,
      endpoint: call?.caller.id ?? caller?.id ?? "",
      requestId: id,
      ...(trace === undefined ? {} : { trace: traceIdOf(trace) }),
      version: call?.version ?? form,
      outcome,
      ms: performance.now() - this.#begun,
    });
  }

  /** The next item of a stream of this call, in its span: between two items a generator goes on for anybody who asks. */
  next<T>(producer: AsyncIterator<T>): Promise<IteratorResult<T>> {
    return this.span === undefined ? producer.next() : runInSpan(this.span, () => producer.next());
  }

  /** A stream has ended by itself, or its reader has left: that is the end of the call. */
  endStream(): void {
    this.end(this.#meta.signal.aborted ? "Canceled" : "ok");
  }
}

/** What the request says of the trace that it belongs to; undefined where that is nothing, or nothing that can be read. */
export function tracedBy(meta: Pick<RequestMeta, "header">): TraceContext | undefined {
  const traceparent = meta.header("traceparent");
  return traceparent === undefined ? undefined : traceContextOf(traceparent, meta.header("tracestate"));
}
