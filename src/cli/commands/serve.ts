import { Command } from "commander";
import { loadConfig } from "../../config/load.ts";
import type { Config } from "../../config/schema.ts";
import { siblingsOf } from "../../server/workers/siblings.ts";
import type { Log } from "../../telemetry/log.ts";
import { onEndSignal } from "../end-signals.ts";
import { EXIT } from "../exit.ts";
import { duration, port, wholeNumber } from "../values.ts";

interface ServeOptions {
  readonly config?: string;
  readonly host?: string;
  readonly port?: number;
  readonly adminPort?: number;
  readonly dataDir?: string;
  readonly roles?: string;
  readonly workers?: number;
  readonly grace: number;
  readonly json?: boolean;
}

export function serveCommand(): Command {
  return new Command("serve")
    .description("Run the gateway until SIGTERM, SIGINT or SIGHUP; it then lets go of its clients and ends.")
    .option("--config <file>", "configuration file (BATON_CONFIG; default: baton.yaml, if there is one)")
    .option("--host <address>", "address to listen on (BATON_HOST)")
    .option("--port <port>", "port of every binding, 0 for a free one (BATON_PORT; default 7420)", port)
    .option(
      "--admin-port <port>",
      "port for operators, 0 for a free one (BATON_ADMIN_PORT; default 7421)",
      port,
    )
    .option("--data-dir <folder>", "embedded Redis and admin credential (BATON_DATA_DIR; default .baton)")
    .option(
      "--roles <list>",
      "what this process does: gateway,push,followers,sweeper (BATON_ROLES; default: all of it)",
    )
    .option(
      "--workers <count>",
      "processes that share the ports (BATON_WORKERS; default 1)",
      wholeNumber(1, 64),
    )
    .option("--grace <time>", "how long calls in flight may take to finish at the end", duration, 10)
    .option("--json", "log as JSON, one record a line, on standard output")
    .action(serve);
}

async function serve(options: ServeOptions): Promise<void> {
  const siblings = siblingsOf(process);
  if (siblings === undefined) return supervise(options);
  try {
    const { runWorker } = await import("../../server/workers/worker.ts");
    const { logOfWorker } = await import("../../telemetry/log.ts");
    const { config, log } = await prepare(options);
    const graceMs = options.grace * 1000;
    await runWorker(config, siblings, { log: logOfWorker(log, siblings.orders.number), graceMs });
    process.exit(EXIT.ok);
  } catch (error) {
    // The primary says it. An exit code alone would leave the process there, held by its line to the primary.
    await siblings.failed(error instanceof Error ? error.message : String(error));
    process.exit(EXIT.failed);
  }
}

async function prepare(options: ServeOptions): Promise<{ readonly config: Config; readonly log: Log }> {
  const { createJsonLog, createTextLog } = await import("../../telemetry/log.ts");
  const config = loadConfig(options.config, {
    ...process.env,
    ...(options.host === undefined ? {} : { BATON_HOST: options.host }),
    ...(options.port === undefined ? {} : { BATON_PORT: String(options.port) }),
    ...(options.adminPort === undefined ? {} : { BATON_ADMIN_PORT: String(options.adminPort) }),
    ...(options.roles === undefined ? {} : { BATON_ROLES: options.roles }),
    ...(options.dataDir === undefined ? {} : { BATON_DATA_DIR: options.dataDir }),
    ...(options.workers === undefined ? {} : { BATON_WORKERS: String(options.workers) }),
  });
  const { level } = config.telemetry.log;
  return {
    config,
    log: options.json === true ? createJsonLog(level) : createTextLog(level, process.stderr),
  };
}

/** Serves in this process, or in several that this one looks after. */
async function supervise(options: ServeOptions): Promise<void> {
  // Read only here: the other commands start twice as fast without it.
  const { startGateway } = await import("../../server/gateway.ts");
  const { startWorkers } = await import("../../server/workers/supervisor.ts");
  const { adminTokenFile } = await import("../../server/admin-token.ts");
  const { config, log } = await prepare(options);
  const signalled = Promise.withResolvers<string>();
  onEndSignal(signalled.resolve);

  const onAdmin = (url: string) => log.info({ probes: url }, `Probes are answered on ${url}`);
  const starting =
    config.workers > 1 ? startWorkers({ config, log }) : startGateway(config, { log, onAdmin });
  const gateway = await Promise.race([starting, signalled.promise]);
  if (typeof gateway === "string") {
    // A start can last, as one that waits for its Redis does, and nobody has been served yet.
    log.info({ signal: gateway }, `${gateway}: ending before Baton has started`);
    process.exit(EXIT.ok);
  }
  const { url, adminUrl, consoleUrl } = gateway;
  const { roles } = config;
  const here = roles.includes("gateway")
    ? `listens on ${url}, for operators on`
    : `does ${roles.join(", ")};`;
  const by = config.workers > 1 ? `, with ${config.workers} workers` : "";
  log.info({ url, adminUrl, roles: roles.join(","), pid: process.pid }, `Baton ${here} ${adminUrl}${by}`);
  if (consoleUrl !== undefined) {
    const where = config.admin.token === undefined ? `, which is in ${adminTokenFile(config.dataDir)}` : "";
    log.info({}, `The console is at ${consoleUrl}; sign in with the admin credential${where}`);
  }
  const lost = gateway.lost.then((reason) => ({ reason: reason ?? "The embedded Redis ended by itself" }));
  const end = await Promise.race([signalled.promise, lost]);
  if (typeof end !== "string") {
    // Whatever supervises us starts everything again; what was written is still in the data folder.
    log.error({}, `${end.reason}: ending too, so that everything is started again`);
    process.exit(EXIT.failed);
  }
  log.info({ signal: end }, `${end}: letting go of clients`);
  await gateway.stop(options.grace * 1000);
  log.info({}, "Baton has stopped");
  process.exit(EXIT.ok);
}
