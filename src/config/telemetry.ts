/** What the gateway tells of itself: log lines, metrics and traces. */
import { z } from "zod";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

export const telemetry = z
  .strictObject({
    log: z
      .strictObject({
        level: z.enum(LOG_LEVELS).default("info").describe("The least that is logged. Default `info`."),
        calls: z
          .enum(["all", "errors", "none"])
          .default("all")
          .describe(
            "A line for each call: of all, of those that failed by the gateway's fault, or none. Default `all`.",
          ),
      })
      .prefault({}),
    metrics: z
      .strictObject({
        enabled: z
          .boolean()
          .default(true)
          .describe("Serve `/metrics` for Prometheus on the admin port, without a credential. Default true."),
      })
      .prefault({}),
    traces: z
      .strictObject({
        otlpUrl: z
          .string()
          .refine((text) => /^https?:/.test(text) && URL.canParse(text), "must be an http or https address")
          .optional()
          .describe(
            "OTLP/HTTP address of a collector for traces, such as `http://otel-collector:4318`; without a path, `/v1/traces` is added. Also OTEL_EXPORTER_OTLP_ENDPOINT. Absent: nothing is traced.",
          ),
        headers: z
          .record(
            z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "not a header name"),
            z.string().regex(/^[\x20-\x7e]*$/, "not a header value"),
          )
          .default({})
          .describe(
            "Sent to the collector with every batch, such as a key. Also OTEL_EXPORTER_OTLP_HEADERS.",
          ),
        sampleRatio: z
          .number()
          .min(0)
          .max(1)
          .default(1)
          .describe(
            "Share of the traces begun here that is recorded; a call that comes with a traceparent says itself whether it is. Also OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG. Default 1.",
          ),
        serviceName: z
          .string()
          .min(1)
          .default("baton")
          .describe("`service.name` of the spans. Also OTEL_SERVICE_NAME. Default `baton`."),
      })
      .prefault({}),
  })
  .describe("Logs, metrics and traces; see docs/operate.md.");

export type TraceSettings = z.infer<typeof telemetry>["traces"];
