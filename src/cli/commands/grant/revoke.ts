import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { GrantService, RevokeGrantResponseSchema } from "../../../../gen/baton/admin/v1/grant_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { printResult } from "../../output.ts";

export function grantRevokeCommand(): Command {
  return withAdminOptions(new Command("revoke"))
    .description("End a friendship at once. Its streams close and its open todos fail. Cannot be undone.")
    .argument("<id>", "the request")
    .action(async (id: string, options: AdminOptions) => {
      const answer = await withAdminService(GrantService, options, (client) => client.revokeGrant({ id }));
      printResult(
        options.json,
        toJson(RevokeGrantResponseSchema, answer),
        () => `${id} is revoked; ${answer.deadLettered} open todos failed.`,
      );
    });
}
