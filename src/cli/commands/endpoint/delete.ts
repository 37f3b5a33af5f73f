import { Command } from "commander";
import { type AdminOptions, withAdmin, withAdminOptions } from "../../admin-options.ts";
import { printResult } from "../../output.ts";

export function endpointDeleteCommand(): Command {
  return withAdminOptions(new Command("delete"))
    .description("Remove the record of a revoked endpoint.")
    .argument("<id>", "the endpoint")
    .action(async (id: string, options: AdminOptions) => {
      await withAdmin(options, (client) => client.deleteEndpoint({ id }));
      printResult(options.json, { id, deleted: true }, () => `${id} is deleted.`);
    });
}
