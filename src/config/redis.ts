/** Which Redis, and what it must keep. */
import { z } from "zod";

export const redis = z
  .strictObject({
    url: z
      .string()
      .optional()
      .describe("`redis://` or `rediss://` address of one server. Also BATON_REDIS_URL."),
    sentinel: z
      .strictObject({
        name: z.string().min(1),
        nodes: z.array(z.strictObject({ host: z.string(), port: z.number().int() })).min(1),
      })
      .optional(),
    cluster: z
      .strictObject({ nodes: z.array(z.strictObject({ host: z.string(), port: z.number().int() })).min(1) })
      .optional(),
    username: z.string().optional(),
    password: z.string().optional().describe("For Sentinel and Cluster. Also BATON_REDIS_PASSWORD."),
    waitReplicas: z
      .number()
      .int()
      .min(0)
      .max(10)
      .default(0)
      .describe(
        "Sentinel and Cluster: replicas that must hold a change before its caller is answered. 1 keeps everything that was acknowledged through a failover; while fewer replicas are there, changes are refused as unavailable. Default 0: a failover may lose the last moments.",
      ),
    waitMilliseconds: z
      .number()
      .int()
      .min(1)
      .max(60_000)
      .default(1000)
      .describe("How long these replicas may take. Default 1000."),
    persistence: z
      .enum(["require", "accept-loss"])
      .default("require")
      .describe(
        "`require`: not ready on a server without AOF. `accept-loss`: tasks may be lost with the server.",
      ),
    embedded: z
      .boolean()
      .default(true)
      .describe(
        "Start an own Redis where none is configured. False: refuse to start instead, as the container image does.",
      ),
  })
  .superRefine((value, context) => {
    const ways = [value.url, value.sentinel, value.cluster].filter((way) => way !== undefined);
    if (ways.length > 1)
      context.addIssue({ code: "custom", message: "give only one of url, sentinel, cluster" });
    if (ways.length === 0 && !value.embedded) {
      const message = "give url (BATON_REDIS_URL), sentinel or cluster: `embedded` is off";
      context.addIssue({ code: "custom", message });
    }
  });
