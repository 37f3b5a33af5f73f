import { context, SpanKind, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

/** A span of an application that calls Baton, and the header that it sends with its calls. */
export interface ClientSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly headers: { readonly traceparent: string };
  end(): void;
}

/** OpenTelemetry as an application sets it up, exporting to a collector under a service name of its own. */
export function applicationTracing(collector: string, service: string) {
  const exporter = new OTLPTraceExporter({ url: `${collector}/v1/traces` });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": service }),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  return {
    start(name: string): ClientSpan {
      const span = provider.getTracer("application").startSpan(name, { kind: SpanKind.CLIENT });
      const { traceId, spanId } = span.spanContext();
      return {
        traceId,
        spanId,
        headers: { traceparent: `00-${traceId}-${spanId}-01` },
        end: () => span.end(),
      };
    },
    /** Makes it what `@opentelemetry/api` answers in this process, as a program does once at its start. */
    register(): void {
      trace.setGlobalTracerProvider(provider);
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    },
    async stop(): Promise<void> {
      trace.disable();
      context.disable();
      await provider.shutdown();
    },
  };
}
