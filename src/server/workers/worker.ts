/** One of the processes that serve, below a primary that supervises them (supervisor.ts). */
import type { Config } from "../../config/schema.ts";
import { type GatewayOptions, startGateway } from "../gateway.ts";
import type { WorkerOrders } from "./messages.ts";
import type { Siblings } from "./siblings.ts";

/** Serves until the primary says stop, or until somebody ends this worker alone; then another takes its place. Rejects when it cannot start. */
export async function runWorker(
  config: Config,
  siblings: Siblings,
  options: GatewayOptions & { readonly graceMs: number },
): Promise<void> {
  const terminated = new Promise<number>((resolve) => {
    process.on("SIGTERM", () => resolve(options.graceMs));
    // A terminal sends these to all of us; the primary has them too, and says what to do.
    process.on("SIGINT", () => {});
    process.on("SIGHUP", () => {});
  });
  const graceMs = Promise.race([siblings.stopped, terminated]);
  const gateway = await startGateway(withPorts(config, siblings.orders), { ...options, siblings });
  siblings.ready(gateway);
  await gateway.stop(await graceMs);
}

/** Where the configuration leaves the ports to the system, the first worker has found them for all. */
function withPorts(config: Config, { ports }: WorkerOrders): Config {
  if (ports === undefined) return config;
  return {
    ...config,
    listen: { ...config.listen, port: ports.main },
    admin: { ...config.admin, port: ports.admin },
  };
}
