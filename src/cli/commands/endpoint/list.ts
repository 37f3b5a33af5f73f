import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { ListEndpointsResponseSchema } from "../../../../gen/baton/admin/v1/endpoint_pb.js";
import { type AdminOptions, withAdmin, withAdminOptions } from "../../admin-options.ts";
import { endpointState } from "../../endpoint-text.ts";
import { printResult, table } from "../../output.ts";

interface ListOptions extends AdminOptions {
  readonly agent?: string;
  readonly all?: boolean;
}

export function endpointListCommand(): Command {
  return withAdminOptions(new Command("list"))
    .description("List endpoints, the newest first.")
    .option("--agent <name>", "only those of an agent")
    .option("--all", "revoked ones, too")
    .action(async (options: ListOptions) => {
      const request = { agent: options.agent ?? "", includeRevoked: options.all ?? false };
      const answer = await withAdmin(options, (client) => client.listEndpoints(request));
      const rows = answer.endpoints.map((endpoint) => [
        endpoint.id,
        endpoint.name,
        endpoint.agent,
        endpoint.scope?.queues.join(",") ?? "",
        endpointState(endpoint),
        endpoint.credentialPrefix,
      ]);
      printResult(options.json, toJson(ListEndpointsResponseSchema, answer), () =>
        table([["ENDPOINT", "NAME", "AGENT", "QUEUES", "STATE", "CREDENTIAL"], ...rows]),
      );
    });
}
