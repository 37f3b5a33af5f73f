import {
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { Todo } from "../../gen/baton/worker/v1/worker_pb.js";

/** `traceparent` and, where there is one, `tracestate`; empty without a trace. */
export type TraceHeaders = Readonly<Record<string, string>>;

/**
 * The trace that a todo belongs to. Where the program has set OpenTelemetry up, the work on the todo is a span of its own,
 * and active for the handler; otherwise the context is passed on as it came.
 */
export class TodoTrace {
  readonly #span: Span;
  readonly #context: Context;

  constructor(todo: Todo) {
    const received = readContext(todo);
    const parent = received === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, received);
    const attributes = {
      "messaging.system": "baton",
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.destination.name": todo.queue,
      "messaging.message.id": todo.id,
      "baton.agent": todo.agent,
      "baton.attempt": todo.attempt,
    };
    const options = { kind: SpanKind.CONSUMER, attributes };
    this.#span = trace.getTracer("baton-a2a/worker").startSpan(`process ${todo.queue}`, options, parent);
    this.#context = trace.setSpan(parent, this.#span);
  }

  /** Runs `work` with the span active. */
  run<T>(work: () => T): T {
    return context.with(this.#context, work);
  }

  /** For calls that belong to the todo and to nothing that the handler does. */
  get headers(): TraceHeaders {
    return writeContext(this.#span.spanContext());
  }

  /** For calls of the handler: below the span that is active in it, which may be one that it made itself. */
  get activeHeaders(): TraceHeaders {
    const active = trace.getSpanContext(context.active());
    return active !== undefined && isSpanContextValid(active) ? writeContext(active) : this.headers;
  }

  /** `outcome`: as in WorkerOptions.onOutcome. */
  end(outcome: string): void {
    this.#span.setAttribute("baton.outcome", outcome);
    if (outcome === "failed") this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end();
  }
}

function readContext({ traceparent, tracestate }: Todo): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = "0"] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent) ?? [];
  const read: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(tracestate === "" ? {} : { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(read) ? read : undefined;
}

function writeContext(span: SpanContext): TraceHeaders {
  if (!isSpanContextValid(span)) return {};
  const { traceId, spanId, traceFlags, traceState } = span;
  const tracestate = traceState?.serialize() ?? "";
  return {
    traceparent: `00-${traceId}-${spanId}-${(traceFlags & 1) === 1 ? "01" : "00"}`,
    ...(tracestate === "" ? {} : { tracestate }),
  };
}
