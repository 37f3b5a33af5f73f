/** Traces by the OpenTelemetry SDK, sent in batches to an OTLP/HTTP collector. Loaded only where one is configured. */
import { hostname } from "node:os";
import {
  type Context,
  createTraceState,
  type Link,
  SpanKind as OtelKind,
  type Span as OtelSpan,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { TraceSettings } from "../../config/telemetry.ts";
import { isSampled, spanIdOf, type TraceContext, traceIdOf } from "../../domain/trace-context.ts";
import type { SpanAttributes, SpanKind, SpanOptions, Tracer, TraceSpan } from "./span.ts";

export interface TracerOptions {
  readonly settings: TraceSettings & { readonly otlpUrl: string };
  readonly version: string;
  /** Told that spans were lost; once in a while, however long the collector is away. */
  onLost(error: unknown): void;
}

/** Spans that wait for the collector; more are dropped. */
const MAX_WAITING = 8192;
const BATCH_SPANS = 512;
const BATCH_MS = 1000;
const TELL_AGAIN_MS = 5 * 60_000;

const KINDS: Readonly<Record<SpanKind, OtelKind>> = {
  internal: OtelKind.INTERNAL,
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
  producer: OtelKind.PRODUCER,
  consumer: OtelKind.CONSUMER,
};

/** Begins to collect spans. What a caller of ours decided on sampling holds; `sampleRatio` is for traces begun here. */
export function createTracer(options: TracerOptions): Tracer {
  const { settings, version } = options;
  const provider = new TracerProvider({
    resource: resourceOf(settings.serviceName, version),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.sampleRatio) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: telling(
          new OTLPTraceExporter({ url: tracesUrl(settings.otlpUrl), headers: { ...settings.headers } }),
          options.onLost,
        ),
        maxQueueSize: MAX_WAITING,
        maxExportBatchSize: BATCH_SPANS,
        scheduledDelayMillis: BATCH_MS,
      }),
    ],
  });
  const tracer = provider.getTracer("baton", version);
  return {
    start: (name, span, parent) => startSpan(tracer, name, span, parent),
    async stop(limitMs) {
      const limit = new Promise<void>((resolve) => setTimeout(resolve, limitMs).unref());
      await Promise.race([provider.shutdown().catch(() => {}), limit]);
    },
  };
}

/** An address without a path means the collector's usual one. */
function tracesUrl(otlpUrl: string): string {
  const url = new URL(otlpUrl);
  if (url.pathname === "/") url.pathname = "/v1/traces";
  return url.href;
}

/** OTEL_RESOURCE_ATTRIBUTES count, but for what the configuration names. */
function resourceOf(serviceName: string, version: string) {
  const own = resourceFromAttributes({
    "service.name": serviceName,
    "service.version": version,
    "service.instance.id": `${hostname()}:${process.pid}`,
  });
  return defaultResource()
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector] }))
    .merge(own);
}

/** A collector that is away costs spans and a line in the log, once in a while. */
function telling(exporter: SpanExporter, onLost: (error: unknown) => void): SpanExporter {
  let toldAt = Number.NEGATIVE_INFINITY;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== 0 && performance.now() - toldAt >= TELL_AGAIN_MS) {
          toldAt = performance.now();
          onLost(result.error);
        }
        done(result);
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}

function startSpan(
  tracer: OtelTracer,
  name: string,
  { kind, attributes, links = [] }: SpanOptions,
  parent: TraceContext | undefined,
): TraceSpan {
  const options = {
    kind: KINDS[kind],
    ...(attributes === undefined ? {} : { attributes }),
    links: links.map((context): Link => ({ context: spanContextOf(context) })),
  };
  return new OtlpSpan(tracer, tracer.startSpan(name, options, contextOf(parent)));
}

function contextOf(parent: TraceContext | undefined): Context {
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContextOf(parent));
}

function spanContextOf(context: TraceContext): SpanContext {
  return {
    traceId: traceIdOf(context),
    spanId: spanIdOf(context),
    traceFlags: isSampled(context) ? 1 : 0,
    isRemote: true,
    ...(context.tracestate === undefined ? {} : { traceState: createTraceState(context.tracestate) }),
  };
}

class OtlpSpan implements TraceSpan {
  readonly context: TraceContext;
  readonly sampled: boolean;
  readonly #tracer: OtelTracer;
  readonly #span: OtelSpan;

  constructor(tracer: OtelTracer, span: OtelSpan) {
    this.#tracer = tracer;
    this.#span = span;
    const { traceId, spanId, traceFlags, traceState } = span.spanContext();
    this.sampled = (traceFlags & 1) === 1;
    const tracestate = traceState?.serialize() ?? "";
    this.context = {
      traceparent: `00-${traceId}-${spanId}-${this.sampled ? "01" : "00"}`,
      ...(tracestate === "" ? {} : { tracestate }),
    };
  }

  start(name: string, options: SpanOptions, parent: TraceContext = this.context): TraceSpan {
    return startSpan(this.#tracer, name, options, parent);
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes);
  }

  end(error?: string): void {
    if (error !== undefined) {
      this.#span.setAttribute("error.type", error);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}
