import type { Environment } from "./environment.ts";
import type { TraceSettings } from "./telemetry.ts";

/** What the standard variables of OpenTelemetry say of traces. `otlpUrl: null`: they turn tracing off. */
export interface OtelSettings extends Omit<Partial<TraceSettings>, "otlpUrl"> {
  readonly otlpUrl?: string | null;
}

/**
 * Reads them as the specification of OpenTelemetry does (general SDK configuration, OTLP exporter). The exporter itself reads
 * OTEL_EXPORTER_OTLP_HEADERS, _TIMEOUT, _COMPRESSION and _CERTIFICATE; OTEL_RESOURCE_ATTRIBUTES are read with the spans.
 */
export function otelSettings(environment: Environment): OtelSettings {
  const value = (name: string) => environment[name]?.trim() || undefined;
  if (value("OTEL_SDK_DISABLED")?.toLowerCase() === "true" || value("OTEL_TRACES_EXPORTER") === "none") {
    return { otlpUrl: null };
  }
  const base = value("OTEL_EXPORTER_OTLP_ENDPOINT");
  const otlpUrl =
    value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") ??
    (base === undefined ? undefined : `${base.replace(/\/+$/, "")}/v1/traces`);
  const serviceName = value("OTEL_SERVICE_NAME");
  const sampleRatio = ratioOf(value("OTEL_TRACES_SAMPLER"), value("OTEL_TRACES_SAMPLER_ARG"));
  return {
    ...(otlpUrl === undefined ? {} : { otlpUrl }),
    ...(serviceName === undefined ? {} : { serviceName }),
    ...(sampleRatio === undefined ? {} : { sampleRatio }),
  };
}

/** What a caller decided always holds here, so the `parentbased_` forms and the plain ones are the same. */
function ratioOf(sampler: string | undefined, argument: string | undefined): number | undefined {
  switch (sampler?.replace(/^parentbased_/, "")) {
    case "always_on":
      return 1;
    case "always_off":
      return 0;
    case "traceidratio": {
      const ratio = Number(argument ?? 1);
      return ratio >= 0 && ratio <= 1 ? ratio : 1;
    }
    default:
      return undefined;
  }
}
