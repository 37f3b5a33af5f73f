/** Push notifications; docs/push.md explains the numbers. */
import { z } from "zod";
import { bucket, count, seconds } from "./fields.ts";

export const push = z
  .strictObject({
    enabled: z
      .boolean()
      .optional()
      .describe(
        "Offer push notifications. Default: yes where there is a key to seal credentials with, which is always so for the embedded Redis.",
      ),
    secretKey: z
      .string()
      .optional()
      .describe(
        "32 random bytes in base64 that seal receivers' credentials; the same on every replica. Also BATON_SECRET_KEY. Absent with the embedded Redis: one is made and kept in `<dataDir>/secret.key`.",
      ),
    previousSecretKeys: z
      .array(z.string())
      .default([])
      .describe("Earlier keys, that only open what they sealed: for rotation."),
    ports: z
      .array(z.union([z.number().int(), z.string()]))
      .default([443, 8443])
      .describe("Ports of receivers at public addresses."),
    allow: z
      .array(
        z.strictObject({
          cidr: z.string(),
          ports: z.array(z.union([z.number().int(), z.string()])).optional(),
          plaintext: z.boolean().default(false).describe("Also `http:`; credentials then travel in clear."),
        }),
      )
      .default([])
      .describe("Receivers in the operator's own network, as narrow as can be; metadata addresses never."),
    allowNames: z
      .array(z.string())
      .default([])
      .describe("Internal names that may be resolved, such as `*.svc.cluster.local`; they open no address."),
    nat64Prefixes: z.array(z.string()).default([]).describe("NAT64 networks besides 64:ff9b::/96."),
    caFiles: z
      .array(z.string())
      .default([])
      .describe("PEM files of authorities that are trusted besides the platform's."),
    configsPerTask: count("Push configs of one task", 5, 1, 100),
    registration: bucket("Registrations of one endpoint", 0.1, 10),
    attempts: count("Attempts of one push before it is dead", 6, 1, 100),
    baseSeconds: seconds(
      "Delay after the first failed attempt; doubles with each, with full jitter",
      2,
      0,
      86_400,
    ),
    capSeconds: seconds("Longest delay between attempts", 300, 0, 86_400),
    retryAfterCapSeconds: seconds("Longest Retry-After of a receiver that is honoured", 3600, 0, 86_400),
    timeoutSeconds: seconds("The one time limit of an attempt, name resolution included", 10, 0.05, 60),
    expirySeconds: seconds("Age at which a push that could not be sent is dead", 86_400, 1),
    concurrency: count("Pushes under way in one process", 1024, 1, 100_000),
    host: z
      .strictObject({
        perSecond: z.number().min(0).max(1_000_000).default(10),
        burst: z.number().int().min(1).max(1_000_000).default(20),
      })
      .prefault({})
      .describe(
        "Pushes to one receiving host, over all replicas: per second, and burst. 0 per second: no limit. Default 10/s, burst 20.",
      ),
    breaker: z
      .strictObject({
        failures: count("Failures in a row after which a host is left alone", 10, 1, 10_000),
        openSeconds: seconds("How long the first time; doubles with each", 30, 0.01, 86_400),
        openMaxSeconds: seconds("How long at most", 300, 0.01, 86_400),
      })
      .prefault({}),
    laneDepth: count("Pushes that may wait for one config", 10_000, 1, 1_000_000),
    laneBytes: count(
      "Bytes of the pushes that may wait for one config; one push may always wait",
      32 * 1024 * 1024,
      1,
      1024 ** 4,
    ),
    deadLetterSeconds: seconds("How long a dead letter is kept", 604_800, 1),
    deadLetterCount: count("Dead letters kept for one agent", 10_000, 1, 1_000_000),
    deadLetterBytes: count(
      "Bytes of the dead letters kept for one agent; the latest is always kept",
      64 * 1024 * 1024,
      1,
      1024 ** 4,
    ),
    replaySeconds: seconds(
      "How long the sealed credential of an ended task is kept where a dead letter could need it",
      86_400,
      0,
    ),
  })
  .describe("Push notifications; see docs/push.md.");
