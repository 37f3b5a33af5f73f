import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { GetGrantResponseSchema, GrantService } from "../../../../gen/baton/admin/v1/grant_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { grantText } from "../../grant-text.ts";
import { printResult } from "../../output.ts";

export function grantShowCommand(): Command {
  return withAdminOptions(new Command("show"))
    .description("Show a friend request: who asks, for what, and why.")
    .argument("<id>", "the request")
    .action(async (id: string, options: AdminOptions) => {
      const answer = await withAdminService(GrantService, options, (client) => client.getGrant({ id }));
      printResult(options.json, toJson(GetGrantResponseSchema, answer), () =>
        answer.grant === undefined ? "" : grantText(answer.grant),
      );
    });
}
