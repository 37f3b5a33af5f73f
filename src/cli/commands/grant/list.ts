import { toJson } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Command } from "commander";
import {
  GrantService,
  GrantState,
  ListGrantsResponseSchema,
} from "../../../../gen/baton/admin/v1/grant_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { grantState, humanText, quoted } from "../../grant-text.ts";
import { printResult, table } from "../../output.ts";

interface ListOptions extends AdminOptions {
  readonly agent?: string;
  readonly all?: boolean;
}

export function grantListCommand(): Command {
  return withAdminOptions(new Command("list"))
    .description("List friend requests that wait or were approved, the newest first.")
    .option("--agent <name>", "only those to an agent")
    .option("--all", "denied and revoked ones, too")
    .action(async (options: ListOptions) => {
      const states = options.all === true ? [] : [GrantState.PENDING, GrantState.APPROVED];
      const request = { agent: options.agent ?? "", states };
      const answer = await withAdminService(GrantService, options, (client) => client.listGrants(request));
      const rows = answer.grants.map((grant) => [
        grant.id,
        grantState(grant),
        grant.agent,
        quoted(humanText(grant)).slice(1, -1),
        quoted(grant.fromPersona),
        grant.createdAt === undefined ? "" : timestampDate(grant.createdAt).toISOString(),
      ]);
      printResult(options.json, toJson(ListGrantsResponseSchema, answer), () =>
        table([["REQUEST", "STATE", "AGENT", "FROM", "PERSONA", "ASKED"], ...rows]),
      );
    });
}
