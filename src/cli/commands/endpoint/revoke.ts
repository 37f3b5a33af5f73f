import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { RevokeEndpointResponseSchema } from "../../../../gen/baton/admin/v1/endpoint_pb.js";
import { type AdminOptions, withAdmin, withAdminOptions } from "../../admin-options.ts";
import { printResult } from "../../output.ts";

export function endpointRevokeCommand(): Command {
  return withAdminOptions(new Command("revoke"))
    .description("End a credential at once. Its streams close and its open todos fail. Cannot be undone.")
    .argument("<id>", "the endpoint")
    .action(async (id: string, options: AdminOptions) => {
      const answer = await withAdmin(options, (client) => client.revokeEndpoint({ id }));
      printResult(
        options.json,
        toJson(RevokeEndpointResponseSchema, answer),
        () => `${id} is revoked; ${answer.deadLettered} open todos failed.`,
      );
    });
}
