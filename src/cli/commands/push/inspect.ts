import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { GetDeadLetterResponseSchema, PushService } from "../../../../gen/baton/admin/v1/push_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { printResult } from "../../output.ts";
import { deadLetterText } from "../../push-text.ts";

interface InspectOptions extends AdminOptions {
  readonly agent?: string;
}

export function pushInspectCommand(): Command {
  return withAdminOptions(new Command("inspect"))
    .description("Show one push that was given up. Never its body or a credential.")
    .argument("<id>", "the dead letter")
    .option("--agent <name>", "the agent (default: the default agent)")
    .action(async (id: string, options: InspectOptions) => {
      const answer = await withAdminService(PushService, options, (client) =>
        client.getDeadLetter({ agent: options.agent ?? "", id }),
      );
      printResult(options.json, toJson(GetDeadLetterResponseSchema, answer), () =>
        answer.deadLetter === undefined ? "" : deadLetterText(answer.deadLetter),
      );
    });
}
