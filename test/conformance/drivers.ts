import type { DriverKind } from "../scenarios/driver.ts";
import { connectDriver, grpcWebDriver } from "../scenarios/drivers/connect-client.ts";
import { connectJsonDriver } from "../scenarios/drivers/connect-json.ts";
import { grpcDriver } from "../scenarios/drivers/grpc.ts";
import { jsonRpcDriver } from "../scenarios/drivers/jsonrpc.ts";
import { restDriver } from "../scenarios/drivers/rest.ts";

/** Every way into the gateway with the messages of 1.0. */
export const DRIVERS: readonly DriverKind[] = [
  grpcDriver,
  grpcWebDriver,
  connectDriver,
  connectJsonDriver,
  jsonRpcDriver,
  restDriver,
];
