import { type Client, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { Command } from "commander";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { loadConfig } from "../config/load.ts";
import { CliError, EXIT, explainCall } from "./exit.ts";
import { type OutputOptions, withOutput } from "./output.ts";

export interface ClientOptions extends OutputOptions {
  readonly url?: string;
  readonly credential?: string;
  readonly agent?: string;
}

const VEND_ADVICE =
  "Vend one with `baton endpoint create --name me --submit` (or --work) and give it as --credential or BATON_CREDENTIAL.";

/** The options of every command that talks to a gateway as a client or a worker. */
export function withClientOptions(command: Command): Command {
  return withOutput(command)
    .option(
      "--url <url>",
      "address of the gateway (BATON_URL; default: where `baton serve` listens from here)",
    )
    .option("--credential <token>", "endpoint credential (BATON_CREDENTIAL)");
}

export function gatewayUrl(options: ClientOptions): string {
  const given = options.url ?? process.env.BATON_URL;
  if (given !== undefined && given !== "") return checkedUrl(given);
  const { listen, publicUrl } = loadConfig(undefined, process.env);
  if (publicUrl !== undefined) return publicUrl;
  return localUrl(listen.host, listen.port, listen.tls !== undefined);
}

/** The address by which this machine reaches a listener. */
export function localUrl(host: string, port: number, tls: boolean): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `${tls ? "https" : "http"}://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

export function checkedUrl(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url.replace(/\/+$/, "");
  throw new CliError(
    `"${url}" is not an address.`,
    EXIT.usage,
    "Write it as http://host:port or https://host.",
  );
}

export function credentialOf(options: ClientOptions): string {
  const credential = options.credential ?? process.env.BATON_CREDENTIAL ?? "";
  if (credential.trim() === "") throw new CliError("No credential was given.", EXIT.denied, VEND_ADVICE);
  return credential.trim();
}

export interface Connection {
  readonly url: string;
  readonly transport: Transport;
  close(): void;
}

/** A gRPC connection that sends the token with every call. */
export function connect(url: string, token: string): Connection {
  const sessionManager = new Http2SessionManager(url, { pingIntervalMs: 15_000, connectTimeoutMs: 5_000 });
  const authorize: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  return {
    url,
    transport: createGrpcTransport({ baseUrl: url, sessionManager, interceptors: [authorize] }),
    close: () => sessionManager.abort(),
  };
}

export type A2AClient = Client<typeof A2AService>;

/** Runs `work` with a client of the A2A service; errors come out in words. */
export async function withClient<T>(
  options: ClientOptions,
  work: (client: A2AClient) => Promise<T>,
): Promise<T> {
  const connection = connect(gatewayUrl(options), credentialOf(options));
  try {
    return await work(createClient(A2AService, connection.transport));
  } catch (error) {
    throw explainCall(error, connection.url, VEND_ADVICE);
  } finally {
    connection.close();
  }
}
