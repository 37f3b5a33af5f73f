import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { DenyGrantResponseSchema, GrantService } from "../../../../gen/baton/admin/v1/grant_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { printResult } from "../../output.ts";

export function grantDenyCommand(): Command {
  return withAdminOptions(new Command("deny"))
    .description("Deny a friend request. The requester may ask again.")
    .argument("<id>", "the request")
    .action(async (id: string, options: AdminOptions) => {
      const answer = await withAdminService(GrantService, options, (client) => client.denyGrant({ id }));
      printResult(options.json, toJson(DenyGrantResponseSchema, answer), () => `${id} is denied.`);
    });
}

export function grantDeleteCommand(): Command {
  return withAdminOptions(new Command("delete"))
    .description("Remove the record of a friend request that was denied or revoked.")
    .argument("<id>", "the request")
    .action(async (id: string, options: AdminOptions) => {
      await withAdminService(GrantService, options, (client) => client.deleteGrant({ id }));
      printResult(options.json, { id, deleted: true }, () => `${id} is deleted.`);
    });
}
