/** What the gateway tells of itself: log lines and metrics. */
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
  })
  .describe("Logs and metrics; see docs/operate.md.");
