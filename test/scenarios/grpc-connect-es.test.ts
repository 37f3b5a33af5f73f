/** The same table where connect-es serves gRPC as well: nobody may see which of the two paths it is. */
import { grpcDriver } from "./drivers/grpc.ts";
import { runTable } from "./run.ts";

runTable({ ...grpcDriver, name: "gRPC by connect-es" }, undefined, {
  listen: { host: "127.0.0.1", port: 0, leanGrpc: false },
});
