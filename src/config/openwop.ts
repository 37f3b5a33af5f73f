import { z } from "zod";
import type { Verb } from "../domain/caller.ts";

const secret = z
  .union([
    z.strictObject({ env: z.string().min(1).describe("Name of the environment variable that holds it.") }),
    z.strictObject({ file: z.string().min(1).describe("File that holds it; read again when it changes.") }),
  ])
  .describe("Where a credential stands. Never the credential itself.");

const whole = (what: string, fallback: number, min: number, max: number) =>
  z.number().int().min(min).max(max).default(fallback).describe(`${what}. Default ${fallback}.`);

const seconds = (what: string, fallback: number, min: number, max: number) =>
  z.number().min(min).max(max).default(fallback).describe(`${what}, in seconds. Default ${fallback}.`);

/** A back end on an OpenWOP host: every task is one of its runs. */
export const openwopBackend = z.strictObject({
  kind: z.literal("openwop"),
  url: z
    .string()
    .regex(/^https?:\/\/[^/?#]+(\/[^?#]*[^/?#])?$/, "must be http(s)://host[:port], without a trailing slash")
    .describe("Base address of the host."),
  major: z
    .union([z.literal(1), z.literal(2)])
    .default(2)
    .describe("Protocol major that is spoken with the host."),
  workflows: z
    .array(z.string().min(1))
    .min(1)
    .describe(
      "Workflows that this agent starts; each is a skill of the card. The first is the one that a message starts, unless `metadata.openwop.skillId` names another.",
    ),
  credential: secret.describe(
    "The service credential. Needs runs:create, runs:read, runs:cancel, approvals:respond and artifacts:read.",
  ),
  callers: z
    .record(
      z.string().min(1),
      z.strictObject({
        credential: secret.optional().describe("Used instead of the service credential for this caller."),
        subject: z.string().min(1).optional().describe("Who the caller is to the host's approver lists."),
      }),
    )
    .default({})
    .describe("Callers by endpoint name or id that have a credential or a name of their own at the host."),
  inputs: z
    .strictObject({
      text: z.string().min(1).default("prompt"),
      data: z.string().min(1).default("data"),
      files: z.string().min(1).default("files"),
    })
    .prefault({})
    .describe("Names of the inputs that take a message's texts, its data and its file references."),
  failureText: z
    .enum(["message", "code"])
    .default("code")
    .describe(
      "What a failed task says: the code of the run's error, or the first line of its message (`message`). That message is written by the host and its workflows and reaches every client that sees the task: only for a host whose error texts are meant for clients. Default code.",
    ),
  maxWaitSeconds: seconds("Longest wait of a blocking SendMessage", 3, 0, 300),
  timeoutSeconds: seconds("Time limit of one try of a call to the host", 5, 0.05, 60),
  budgetSeconds: seconds("Time limit of a call to the host with all its tries", 8, 0.05, 120),
  connections: whole("Connections for calls to the host, from one process", 16, 1, 1000),
  followers: z
    .strictObject({
      streams: whole(
        "Event streams, each a connection, from one process; runs beyond them are polled",
        512,
        0,
        10_000,
      ),
      runs: whole("Runs followed by one process", 5000, 1, 100_000),
      leaseSeconds: seconds("After how long without a sign another process takes a run over", 15, 0.3, 3600),
      tickSeconds: seconds("Pause between two looks for runs without a follower", 1, 0.02, 60),
      pollSeconds: seconds(
        "First pause between two looks at a polled run; doubles while nothing changes",
        2,
        0.02,
        600,
      ),
      pollCapSeconds: seconds("Longest such pause", 30, 0.02, 3600),
    })
    .prefault({}),
  retentionCheckSeconds: seconds(
    "How often an ended task is compared with its host, and forgotten with its run",
    3600,
    0.05,
    31_536_000,
  ),
});

/** What Baton serves in OpenWOP's own name besides the record of a task. */
export const openwopSurface = z
  .strictObject({
    sampleSeams: z
      .boolean()
      .default(false)
      .describe("Serve the sample seams of the OpenWOP conformance suite. For tests only."),
    proxyAgent: z
      .string()
      .optional()
      .describe(
        "Agent whose host is passed through to: `/.well-known/openwop` with the a2a block added, and the run routes. Callers reach every run of the host that is not another caller's task. Default: none.",
      ),
  })
  .describe("OpenWOP paths; see docs/openwop.md.");

export type OpenWopConfig = z.infer<typeof openwopBackend>;
export type SecretSource = OpenWopConfig["credential"];

interface Skill {
  id: string;
  name: string;
  description: string;
  tags: string[];
  examples: string[];
  inputModes: string[];
  outputModes: string[];
  verbs?: Verb[] | undefined;
}

/** The skills of an agent on a host: what is routed and nothing else, in that order, as the operator described it (OW-5). */
export function routedSkills(workflows: readonly string[], described: readonly Skill[]): Skill[] {
  return workflows.map(
    (id) =>
      described.find((skill) => skill.id === id) ?? {
        id,
        name: id,
        description: `Runs the workflow ${id}.`,
        tags: ["openwop"],
        examples: [],
        inputModes: [],
        outputModes: [],
      },
  );
}
