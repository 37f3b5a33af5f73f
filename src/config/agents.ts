/** The agents of a gateway: card, back end, queues and rules. */
import { z } from "zod";
import { VERBS } from "../domain/caller.ts";
import { name } from "./fields.ts";
import { openwopBackend, routedSkills } from "./openwop.ts";

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

export const agent = z
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
