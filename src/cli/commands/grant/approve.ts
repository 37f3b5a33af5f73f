import { toJson } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Command } from "commander";
import { ApproveGrantResponseSchema, GrantService } from "../../../../gen/baton/admin/v1/grant_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { grantText } from "../../grant-text.ts";
import { printResult } from "../../output.ts";
import { duration, repeated } from "../../values.ts";

interface ApproveOptions extends AdminOptions {
  readonly queue?: readonly string[];
  readonly verb?: readonly string[];
  readonly streaming: boolean;
  readonly push: boolean;
  readonly expiresIn?: number;
}

export function grantApproveCommand(): Command {
  return withAdminOptions(new Command("approve"))
    .description(
      "Approve a friend request, for what was asked or for less. The requester fetches the credential.",
    )
    .argument("<id>", "the request")
    .option(
      "--queue <name>",
      "grant this queue; may be given again; with --verb (default: all asked for)",
      repeated,
    )
    .option(
      "--verb <verb>",
      "grant this verb; may be given again; with --queue (default: all asked for)",
      repeated,
    )
    .option("--no-streaming", "grant no streams")
    .option("--no-push", "grant no push notifications")
    .option("--expires-in <time>", "ends by itself after a time such as 12h or 30d", duration)
    .action(async (id: string, options: ApproveOptions) => {
      const { queue = [], verb = [], expiresIn } = options;
      const request = {
        id,
        queues: [...queue],
        verbs: [...verb],
        withoutStreaming: !options.streaming,
        withoutPush: !options.push,
        ...(expiresIn === undefined ? {} : { expiresAt: timestampFromMs(Date.now() + expiresIn * 1000) }),
      };
      const answer = await withAdminService(GrantService, options, (client) => client.approveGrant(request));
      printResult(options.json, toJson(ApproveGrantResponseSchema, answer), () =>
        answer.grant === undefined ? "" : grantText(answer.grant),
      );
    });
}
