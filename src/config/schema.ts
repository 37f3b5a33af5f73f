/**
 * The one description of the configuration: defaults, units, ranges and advice. The loader, the reference page and the
 * JSON Schema for editors all come from here. Unknown keys are refused everywhere.
 */
import { z } from "zod";
import { VERBS } from "../domain/caller.ts";
import { cards } from "./cards.ts";
import { identity, onboarding, people } from "./identity.ts";
import { openwopBackend, openwopSurface, routedSkills } from "./openwop.ts";
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

const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/,
    "1 to 64 of letters, digits, '.', '_', '~', '-', starting with a letter or digit",
  );

const seconds = (what: string, fallback: number, min = 0, max = 31_536_000) =>
  z.number().min(min).max(max).default(fallback).describe(`${what}, in seconds. Default ${fallback}.`);

const bucket = (what: string, perSecond: number, burst: number) =>
  z
    .strictObject({
      perSecond: z.number().positive().max(1_000_000).default(perSecond),
      burst: z.number().int().min(1).max(1_000_000).default(burst),
    })
    .prefault({})
    .describe(
      `${what}: refill per second and burst, shared by all replicas. Default ${perSecond}/s, burst ${burst}.`,
    );

const skill = z
  .strictObject({
    id: z.string().min(1),
    name: z.string().min(1),
    description: z.string(),
    tags: z.array(z.string()).default([]),
    examples: z.array(z.string()).default([]),
    inputModes: z.array(z.string()).default([]),
    outputModes: z.array(z.string()).default([]),
    verbs: z
      .array(z.enum(VERBS))
      .optional()
      .describe("Verbs that the skill needs: it is on the card while all of them can be granted (SB-67)."),
  })
  .describe("A skill on the agent card.");

const extension = z
  .strictObject({
    uri: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9+.-]*:[^\s,]+$/, "an absolute URI, without blanks and commas")
      .describe("What clients declare in A2A-Extensions."),
    description: z.string().default(""),
    required: z
      .boolean()
      .default(false)
      .describe("Answer ExtensionSupportRequired to clients that do not declare it (A2A-26)."),
    params: z.record(z.string(), z.json()).optional(),
  })
  .describe("An A2A extension that the workers of this agent speak; Baton passes its data through.");

const card = z
  .strictObject({
    name: z.string().min(1).default("Baton"),
    description: z
      .string()
      .default("Work handed to this agent becomes a durable task that a worker carries out."),
    version: z.string().default("1.0.0"),
    provider: z.strictObject({ organization: z.string().min(1), url: z.string().min(1) }).optional(),
    documentationUrl: z.string().optional(),
    iconUrl: z.string().optional(),
    extensions: z.array(extension).default([]),
    defaultInputModes: z.array(z.string()).min(1).default(["text/plain", "application/json"]),
    defaultOutputModes: z.array(z.string()).min(1).default(["text/plain", "application/json"]),
    skills: z.array(skill).default([
      skill.parse({
        id: "delegate-work",
        name: "Delegate work",
        description:
          "Takes a message as a unit of work and reports progress, questions and results on the task.",
        tags: ["todo"],
        verbs: ["create_for"],
      }),
      skill.parse({
        id: "process-work",
        name: "Process work",
        description: "Lets a worker list the work of its queues, claim it and complete it.",
        tags: ["todo", "worker"],
        verbs: ["list_todos", "claim", "complete"],
      }),
    ]),
  })
  .describe(
    "What the agent card says. Interfaces, capabilities and security are filled in from what is served.",
  );

const intake = z
  .strictObject({
    maxPayloadBytes: z
      .number()
      .int()
      .min(1)
      .optional()
      .describe(
        "Longest message, in bytes of its protobuf form. Default: whatever `limits.bodyBytes` lets in.",
      ),
    kinds: z
      .array(z.string().min(1))
      .optional()
      .describe("The only kinds of work (`metadata.kind`) that are taken. Default: all."),
    deniedKinds: z.array(z.string().min(1)).default([]).describe("Kinds of work that are not taken."),
  })
  .describe(
    "What todo work is taken in. What is not becomes a task that is REJECTED from the start, with the reason in its status (SB-8).",
  );

const agent = z
  .strictObject({
    card: card.prefault({}),
    backend: z
      .union([z.literal("todo"), openwopBackend])
      .default("todo")
      .describe("What does the work: `todo`, own queues and workers, or the runs of an OpenWOP host."),
    discoverable: z
      .boolean()
      .optional()
      .describe(
        "Show the public card and take friend requests. Hidden, the agent is answered as if it did not exist, to anybody without a credential. Default: the default agent is shown, others are not.",
      ),
    owner: z
      .string()
      .min(1)
      .default("operator")
      .describe("Which of `admin.people` decides on friend requests. The admin credential always may."),
    verbs: z
      .array(z.enum(VERBS))
      .min(1)
      .default([...VERBS])
      .describe("What endpoints of this agent may be granted. Default: everything."),
    extendedCard: z
      .enum(["caller", "none", "off"])
      .optional()
      .describe(
        "Extended card: `caller`, what the calling endpoint may do; `none`, answered ExtendedAgentCardNotConfigured; `off`, not offered on the card. Default: `caller` for todos, `off` for runs.",
      ),
    queues: z.array(name).min(1).default(["default"]).describe("Queues of this agent's todos."),
    defaultQueue: name
      .optional()
      .describe("Where a message goes that names no queue. Default: the only queue."),
    intake: intake.prefault({}),
    visibility: z
      .enum(["submitter", "queue"])
      .default("submitter")
      .describe("Who sees a task: the endpoint that sent it, or every endpoint granted its queue."),
    cancelOnTerminal: z
      .enum(["return", "error"])
      .optional()
      .describe(
        "Cancel of a completed, failed or rejected task: answer it unchanged, or TaskNotCancelable (A2A-75). Default: `return` for todos, `error` for runs.",
      ),
    errorTable: z
      .enum(["1.0.1", "1.0.0"])
      .default("1.0.1")
      .describe("Edition of the protocol's error table (A2A-158)."),
    pushContent: z
      .enum(["full", "references"])
      .optional()
      .describe(
        "What a push carries: the whole event, or states and artifact ids only, so that results have to be fetched. Default: `full` for todos, `references` for runs (OW-50).",
      ),
    acceptInputModes: z
      .enum(["any", "card"])
      .default("card")
      .describe("Refuse a part whose media type the card does not list (A2A-37), or take any."),
  })
  .superRefine((value, context) => {
    if (value.defaultQueue !== undefined && !value.queues.includes(value.defaultQueue)) {
      context.addIssue({ code: "custom", path: ["defaultQueue"], message: "must be one of `queues`" });
    }
  })
  .transform((value) => {
    const { backend, card } = value;
    if (backend === "todo") {
      const { cancelOnTerminal = "return", extendedCard = "caller", pushContent = "full" } = value;
      return { ...value, cancelOnTerminal, extendedCard, pushContent };
    }
    const skills = routedSkills(backend.workflows, card.skills);
    const { cancelOnTerminal = "error", extendedCard = "off", pushContent = "references" } = value;
    return { ...value, card: { ...card, skills }, cancelOnTerminal, extendedCard, pushContent };
  });

const redis = z
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

const count = (what: string, fallback: number, min: number, max: number) =>
  z.number().int().min(min).max(max).default(fallback).describe(`${what}. Default ${fallback}.`);

const push = z
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
    deadLetterSeconds: seconds("How long a dead letter is kept", 604_800, 1),
    deadLetterCount: count("Dead letters kept for one agent", 10_000, 1, 1_000_000),
    replaySeconds: seconds(
      "How long the sealed credential of an ended task is kept where a dead letter could need it",
      86_400,
      0,
    ),
  })
  .describe("Push notifications; see docs/push.md.");

export const configSchema = z.strictObject({
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
      stallSeconds: seconds("How long a reader may take nothing of a stream before it is cut", 60, 0.1, 3600),
      keepAliveSeconds: seconds("Silence after which a comment is sent on an event stream", 15, 1, 60),
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
