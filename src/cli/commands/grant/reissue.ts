import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { GrantService, ReissuePickupResponseSchema } from "../../../../gen/baton/admin/v1/grant_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { grantText } from "../../grant-text.ts";
import { note, printResult } from "../../output.ts";

export function grantReissueCommand(): Command {
  return withAdminOptions(new Command("reissue"))
    .description(
      "Make a new pickup token for an approved request, to be handed to the requester. The old one, and the credential that was fetched with it, are dead.",
    )
    .argument("<id>", "the request")
    .action(async (id: string, options: AdminOptions) => {
      const answer = await withAdminService(GrantService, options, (client) => client.reissuePickup({ id }));
      if (options.json !== true && answer.grant !== undefined) note(grantText(answer.grant));
      printResult(options.json, toJson(ReissuePickupResponseSchema, answer), () => answer.pickupToken);
    });
}
