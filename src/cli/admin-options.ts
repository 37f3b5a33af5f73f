import { readFileSync } from "node:fs";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import type { Command } from "commander";
import { EndpointService } from "../../gen/baton/admin/v1/endpoint_pb.js";
import { loadConfig } from "../config/load.ts";
import { adminTokenFile } from "../server/admin-token.ts";
import { checkedUrl, connect, localUrl } from "./client-options.ts";
import { CliError, EXIT, explainCall } from "./exit.ts";
import { type OutputOptions, withOutput } from "./output.ts";

export interface AdminOptions extends OutputOptions {
  readonly adminUrl?: string;
  readonly config?: string;
}

const ADVICE =
  "Run this where `baton serve` runs, so that it finds the admin credential in the data folder, or set BATON_ADMIN_TOKEN.";

/** The options of every command for operators. */
export function withAdminOptions(command: Command): Command {
  return withOutput(command)
    .option(
      "--admin-url <url>",
      "address of the admin port (BATON_ADMIN_URL; default: from the configuration)",
    )
    .option("--config <file>", "configuration file, to find the admin port and the data folder");
}

/** Runs `work` with a client of the endpoint service; errors come out in words. */
export function withAdmin<T>(
  options: AdminOptions,
  work: (client: Client<typeof EndpointService>) => Promise<T>,
): Promise<T> {
  return withAdminService(EndpointService, options, work);
}

/** Runs `work` with a client of a service of the admin port; errors come out in words. */
export async function withAdminService<S extends DescService, T>(
  service: S,
  options: AdminOptions,
  work: (client: Client<S>) => Promise<T>,
): Promise<T> {
  const config = loadConfig(options.config, process.env);
  const given = options.adminUrl ?? process.env.BATON_ADMIN_URL;
  const url = given ? checkedUrl(given) : localUrl(config.admin.host, config.admin.port, false);
  const connection = connect(url, config.admin.token ?? readToken(config.dataDir));
  try {
    return await work(createClient(service, connection.transport));
  } catch (error) {
    throw explainCall(error, url, ADVICE);
  } finally {
    connection.close();
  }
}

function readToken(dataDir: string): string {
  const path = adminTokenFile(dataDir);
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    throw new CliError(`There is no admin credential: ${path} cannot be read.`, EXIT.denied, ADVICE);
  }
}
