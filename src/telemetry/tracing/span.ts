/**
 * Spans as the rest of Baton knows them. Only tracing/otlp.ts knows the OpenTelemetry SDK, and it is loaded only where
 * traces are configured.
 */
import type { TraceContext } from "../../domain/trace-context.ts";

export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

/** Names of the OpenTelemetry semantic conventions, or `baton.*`. Never a credential, content or a whole URL (SB-56). */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  readonly kind: SpanKind;
  readonly attributes?: SpanAttributes;
  /** Other places in traces that it has to do with. */
  readonly links?: readonly TraceContext[];
}

/** A span under way. */
export interface TraceSpan {
  /** What to send on, so that others can be its children. */
  readonly context: TraceContext;
  /** Whether it is recorded; its children are only where it is. */
  readonly sampled: boolean;
  /** Begins another span: below `parent`, by default below this one. */
  start(name: string, options: SpanOptions, parent?: TraceContext): TraceSpan;
  set(attributes: SpanAttributes): void;
  /** Ends it, once. `error`: the kind of what went wrong, never a text with content; absent: it went well. */
  end(error?: string): void;
}

/** Makes the spans of one process. */
export interface Tracer {
  /** Begins a span below `parent`; without one it begins a trace. */
  start(name: string, options: SpanOptions, parent?: TraceContext): TraceSpan;
  /** Sends what is still to be sent, within `limitMs`. Never rejects. */
  stop(limitMs: number): Promise<void>;
}
