import type { Config } from "../config/schema.ts";
import type { Tracer } from "../telemetry/tracing/span.ts";
import type { ServerLog } from "./log.ts";
import { programVersion } from "./version.ts";

/** What a stop waits for the collector, in milliseconds. */
export const FLUSH_MS = 3000;

/** Makes the tracer; undefined where no collector is configured: then the OpenTelemetry SDK is not even loaded. */
export async function openTracer(config: Config, log: ServerLog | undefined): Promise<Tracer | undefined> {
  const { otlpUrl, ...settings } = config.telemetry.traces;
  if (otlpUrl === undefined) return undefined;
  const { createTracer } = await import("../telemetry/tracing/otlp.ts");
  return createTracer({
    settings: { ...settings, otlpUrl },
    version: programVersion(),
    onLost: (error) => log?.warn({ err: error }, "traces cannot be sent to the collector; they are dropped"),
  });
}
