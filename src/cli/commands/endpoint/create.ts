import { toJson } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Command } from "commander";
import { CreateEndpointResponseSchema } from "../../../../gen/baton/admin/v1/endpoint_pb.js";
import { SUBMIT_VERBS, WORK_VERBS } from "../../../domain/caller.ts";
import { type AdminOptions, withAdmin, withAdminOptions } from "../../admin-options.ts";
import { endpointText } from "../../endpoint-text.ts";
import { CliError, EXIT } from "../../exit.ts";
import { note, printResult } from "../../output.ts";
import { duration, repeated } from "../../values.ts";

interface CreateOptions extends AdminOptions {
  readonly name: string;
  readonly agent?: string;
  readonly queue?: readonly string[];
  readonly submit?: boolean;
  readonly work?: boolean;
  readonly verb?: readonly string[];
  readonly streaming: boolean;
  readonly push?: boolean;
  readonly expiresIn?: number;
  readonly defaultLease?: number;
  readonly owner?: string;
}

export function endpointCreateCommand(): Command {
  return withAdminOptions(new Command("create"))
    .description("Vend a credential. It is printed on standard output this once, and kept nowhere.")
    .requiredOption("--name <name>", "what to call it")
    .option("--submit", "may send messages and follow its own tasks")
    .option("--work", "may claim and do todos")
    .option("--verb <verb>", "may do this one thing; may be given again", repeated)
    .option("--queue <name>", "a queue that it is good for; may be given again (default: default)", repeated)
    .option("--agent <name>", "the agent that it belongs to (default: the default agent)")
    .option("--no-streaming", "may not open streams")
    .option("--push", "may register push notifications")
    .option("--expires-in <time>", "ends by itself after a time such as 12h or 30d", duration)
    .option("--default-lease <time>", "lease of its claims, 60s to 24h", duration)
    .option("--owner <name>", "who answers for it")
    .action(createEndpoint);
}

async function createEndpoint(options: CreateOptions): Promise<void> {
  const verbs = [
    ...(options.submit === true ? SUBMIT_VERBS : []),
    ...(options.work === true ? WORK_VERBS : []),
    ...(options.verb ?? []),
  ];
  if (verbs.length === 0) {
    throw new CliError("The endpoint could do nothing.", EXIT.usage, "Give --submit, --work or --verb.");
  }
  const { expiresIn, defaultLease } = options;
  const created = await withAdmin(options, (client) =>
    client.createEndpoint({
      name: options.name,
      agent: options.agent ?? "",
      owner: options.owner ?? "",
      scope: {
        queues: [...(options.queue ?? ["default"])],
        verbs,
        streaming: options.streaming,
        push: options.push ?? false,
      },
      ...(expiresIn === undefined ? {} : { expiresAt: timestampFromMs(Date.now() + expiresIn * 1000) }),
      ...(defaultLease === undefined ? {} : { defaultLease: durationFromMs(defaultLease * 1000) }),
    }),
  );
  // Only the credential on standard output, so that a shell can take it: X=$(baton endpoint create ...).
  if (options.json !== true && created.endpoint !== undefined) note(endpointText(created.endpoint));
  printResult(options.json, toJson(CreateEndpointResponseSchema, created), () => created.credential);
}
