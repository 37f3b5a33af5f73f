/**
 * The one description of the configuration: defaults, units, ranges and advice. The loader, the reference page and the
 * JSON Schema for editors all come from here. Unknown keys are refused everywhere.
 */
import { z } from "zod";
import { TASK_BYTES } from "../domain/task-size.ts";
import { agent } from "./agents.ts";
import { cards } from "./cards.ts";
import { bucket, name, seconds } from "./fields.ts";
import { identity, onboarding, people } from "./identity.ts";
import { openwopSurface } from "./openwop.ts";
import { push } from "./push.ts";
import { redis } from "./redis.ts";
import { telemetry } from "./telemetry.ts";

/** First path segments that are not agents (design.md section 7). */
export const RESERVED_AGENT_NAMES = [
  "v1",
  "tasks",
  "message:send",
  "message:stream",
  "extendedAgentCard",
  "mcp",
  "healthz",
  "a2a",
] as const;

/** What a process does (design.md section 8). */
export const ROLES = ["gateway", "push", "followers", "sweeper"] as const;

export const configSchema = z.strictObject({
  roles: z
    .array(z.enum(ROLES))
    .min(1)
    .default([...ROLES])
    .describe(
      "What this process does, to scale parts apart: `gateway` serves callers, workers and operators; `push` delivers push notifications; `followers` follow the runs of OpenWOP hosts; `sweeper` does the housekeeping of tasks. Together the processes on one Redis must have all of them. Also BATON_ROLES, with commas. Default: all.",
    ),
  listen: z
    .strictObject({
      host: z.string().default("127.0.0.1").describe("Address to listen on. `0.0.0.0` or `::` for all."),
      port: z.number().int().min(0).max(65_535).default(7420).describe("One port for every binding."),
      leanGrpc: z
        .boolean()
        .default(true)
        .describe(
          "Serve gRPC straight on HTTP/2 streams; off, connect-es serves it. The answers are the same.",
        ),
      leanHttp: z
        .boolean()
        .default(true)
        .describe(
          "Read small JSON-RPC and HTTP+JSON calls over HTTP/1.1 without Node's HTTP, which serves all else; off, it serves everything. The answers are the same.",
        ),
      cors: z
        .strictObject({
          origins: z
            .array(
              z.union([z.literal("*"), z.string().regex(/^https?:\/\/[^/\s]+$/, "scheme, host and port")]),
            )
            .min(1)
            .describe("Origins whose pages may call, such as `https://app.example`; `*` for all."),
          maxAgeSeconds: seconds("How long a browser may keep the permission", 600, 0, 86_400),
        })
        .optional()
        .describe(
          "Answer browsers of these origins on every binding. Absent: browsers of other origins are not served, but for cards.",
        ),
      trustedProxies: z
        .array(z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()]))
        .default([])
        .describe(
          "Addresses and networks of proxies whose X-Forwarded-For, -Proto, -Host and -Prefix are believed: for limits per address, and for the addresses in cards where `publicUrl` is not given. Default: nobody's.",
        ),
      tls: z
        .strictObject({ certFile: z.string().min(1), keyFile: z.string().min(1) })
        .optional()
        .describe("PEM files. With them the port speaks TLS with ALPN, without them cleartext."),
    })
    .prefault({}),
  admin: z
    .strictObject({
      host: z.string().default("127.0.0.1"),
      port: z.number().int().min(0).max(65_535).default(7421),
      token: z
        .string()
        .min(16)
        .regex(/^[A-Za-z0-9._~+/=-]*$/, "letters, digits and ._~+/=- only: it travels as a bearer token")
        .optional()
        .describe(
          "Admin credential. Also BATON_ADMIN_TOKEN. Absent: one is made and kept in `<dataDir>/admin.token`.",
        ),
      console: z
        .boolean()
        .default(true)
        .describe("Serve the console, a web page for operators, at `/console` of this port."),
      people,
      audience: z
        .string()
        .min(1)
        .optional()
        .describe(
          "`aud` of the ID tokens of `people`; none of an issuer's `audiences`. Required with `people`.",
        ),
    })
    .prefault({}),
  publicUrl: z
    .string()
    .regex(/^https?:\/\//, "must start with http:// or https://")
    .optional()
    .describe("Base of the addresses in agent cards. Default: the listening address."),
  workers: z
    .number()
    .int()
    .min(1)
    .max(64)
    .default(1)
    .describe(
      "Processes that serve the two ports together; one uses about one core. In Kubernetes take more replicas instead. Also BATON_WORKERS. Default 1.",
    ),
  dataDir: z.string().default(".baton").describe("Embedded Redis data and the admin credential."),
  redis: redis.prefault({}),
  agents: z.record(name, agent).default({ default: agent.parse({}) }),
  defaultAgent: name.default("default").describe("The agent whose card stands at the root."),
  versions: z
    .strictObject({
      strict: z
        .boolean()
        .default(false)
        .describe("Read a missing A2A-Version as 0.3 even on 1.0 forms (A2A-19)."),
    })
    .prefault({}),
  send: z
    .strictObject({
      maxWaitSeconds: seconds(
        "Longest wait of a blocking SendMessage before it answers the task as it is; 0 never waits",
        20,
        0,
        300,
      ),
    })
    .prefault({}),
  streams: z
    .strictObject({
      perEndpoint: z
        .number()
        .int()
        .min(1)
        .default(8)
        .describe("Open streams of one endpoint on all replicas (SB-47)."),
      buffer: z
        .number()
        .int()
        .min(1)
        .default(256)
        .describe("Events held for a slow reader before it is cut (SB-49)."),
      stallSeconds: seconds(
        "How long a client may take nothing of a stream or an answer before it is cut",
        60,
        0.1,
        3600,
      ),
      keepAliveSeconds: seconds(
        "Silence after which a comment is sent on an event stream, and pause between HTTP/2 pings under gRPC streams; shorter than the idle limit of every proxy",
        15,
        1,
        60,
      ),
      endOnInputRequired: z.boolean().default(true).describe("End a stream after INPUT_REQUIRED (A2A-100)."),
      earlyErrors: z
        .enum(["json", "sse"])
        .default("json")
        .describe("Form of an error before the first event of a JSON-RPC stream (a2a.md 2.5.1)."),
    })
    .prefault({}),
  limits: z
    .strictObject({
      bodyBytes: z
        .number()
        .int()
        .min(1024)
        .default(262_144)
        .describe("Largest request body, in bytes (SB-53)."),
      taskBytes: z
        .number()
        .int()
        .min(131_072)
        .max(134_217_728)
        .default(TASK_BYTES)
        .describe(
          "Largest task, in bytes: history, artifacts (each counts at least 256) and status message. What would go beyond is refused as TASK_TOO_LARGE and changes nothing; the last 64 KiB are kept for the end. Default 4128768, for the 4 MiB that gRPC clients take by default; raise both together.",
        ),
      perAddress: bucket("Requests of one address before its credential is looked at", 50, 100),
      perEndpoint: bucket("Calls of one endpoint", 20, 40),
      send: bucket("SendMessage and SendStreamingMessage of one endpoint", 1, 20),
    })
    .prefault({}),
  leases: z
    .strictObject({
      defaultSeconds: seconds("Lease of a claim that asks for none", 300, 1, 86_400),
      sweepSeconds: seconds("Pause between two rounds of housekeeping", 30, 0.05, 3600),
    })
    .prefault({}),
  retries: z
    .strictObject({
      maxAttempts: z
        .number()
        .int()
        .min(1)
        .max(1000)
        .default(5)
        .describe("Attempts of a todo before it is dead."),
      keepAttempts: z
        .number()
        .int()
        .min(5)
        .max(1000)
        .default(50)
        .describe("Attempts that a todo remembers; older ones are only counted. Default 50."),
      baseSeconds: seconds("Delay after the first failed attempt; doubles with each", 30, 0, 86_400),
      capSeconds: seconds("Longest delay between attempts", 900, 0, 86_400),
      jitter: z
        .number()
        .min(0)
        .max(1)
        .default(0)
        .describe("Share of the delay that is taken away at random."),
    })
    .prefault({}),
  interrupts: z
    .strictObject({
      limitSeconds: seconds("How long a task waits for its client before it fails; 0 for ever", 86_400),
    })
    .prefault({}),
  drain: z
    .strictObject({
      delaySeconds: seconds(
        "How long everything is served on after SIGTERM, with `/readyz` failing: longer than balancers take to notice. 0 for a gateway alone",
        0,
        0,
        600,
      ),
    })
    .prefault({}),
  push: push.prefault({}),
  openwop: openwopSurface.prefault({}),
  identity: identity.prefault({}),
  onboarding: onboarding.prefault({}),
  cards: cards.prefault({}),
  telemetry: telemetry.prefault({}),
  retention: z
    .strictObject({
      terminalSeconds: seconds("How long an ended task is kept", 2_592_000, 1),
      maxTasks: z
        .number()
        .int()
        .min(0)
        .default(500_000)
        .describe("Ended tasks kept for one agent; the oldest go first, open work never. Default 500000."),
    })
    .prefault({}),
});

export type Config = z.infer<typeof configSchema>;
export type AgentConfig = Config["agents"][string];
