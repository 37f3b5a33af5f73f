/** A primary as that of `baton serve --workers`, which finds a worker that hangs in two seconds instead of thirty. */
import cluster from "node:cluster";
import { fileURLToPath } from "node:url";
import { loadConfig } from "../../src/config/load.ts";
import { startWorkers } from "../../src/server/workers/supervisor.ts";
import { createJsonLog } from "../../src/telemetry/log.ts";

cluster.setupPrimary({
  exec: fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url)),
  args: process.argv.slice(2),
});
const log = createJsonLog("info");
const gateway = await startWorkers({
  config: loadConfig(undefined, process.env),
  log,
  watch: { everyMs: 250, misses: 8 },
});
log.info({ url: gateway.url, adminUrl: gateway.adminUrl }, "serving");
process.once("SIGTERM", () => void gateway.stop(0).then(() => process.exit(0)));
