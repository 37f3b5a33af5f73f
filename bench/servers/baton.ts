/** A gateway as `baton serve` runs it, without limits on calls, on a Redis that the bench names. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "../../src/config/load.ts";
import { startGateway } from "../../src/server/gateway.ts";
import { createVendor, type VendOptions } from "../../test/gateway.ts";
import { ready, startedWith } from "../program.ts";

const UNLIMITED = { perSecond: 1_000_000, burst: 1_000_000 };
const dataDir = await mkdtemp(join(tmpdir(), "baton-bench-"));
const config = parseConfig({
  listen: { port: 0 },
  admin: { port: 0 },
  dataDir,
  limits: { perAddress: UNLIMITED, perEndpoint: UNLIMITED, send: UNLIMITED },
  streams: { perEndpoint: 100_000 },
  // The default log tells of each failed call; the bench says what failed itself.
  telemetry: { log: { level: "error" } },
  ...startedWith<object>(),
});
const gateway = await startGateway(config);
const vendor = createVendor(gateway.adminUrl, gateway.adminToken);

ready(
  { port: gateway.port },
  {
    vend: (options: VendOptions) => vendor.vend(options),
    vendWorker: (options: VendOptions) => vendor.vendWorker(options),
    openStreams: () => gateway.openStreams,
  },
  async () => {
    await gateway.stop(100);
    await rm(dataDir, { recursive: true, force: true });
  },
);
