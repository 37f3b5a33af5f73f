import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { GetEndpointResponseSchema } from "../../../../gen/baton/admin/v1/endpoint_pb.js";
import { type AdminOptions, withAdmin, withAdminOptions } from "../../admin-options.ts";
import { endpointText } from "../../endpoint-text.ts";
import { printResult } from "../../output.ts";

export function endpointGetCommand(): Command {
  return withAdminOptions(new Command("get"))
    .description("Show an endpoint. Its credential cannot be shown again.")
    .argument("<id>", "the endpoint")
    .action(async (id: string, options: AdminOptions) => {
      const answer = await withAdmin(options, (client) => client.getEndpoint({ id }));
      printResult(options.json, toJson(GetEndpointResponseSchema, answer), () =>
        answer.endpoint === undefined ? "" : endpointText(answer.endpoint),
      );
    });
}
