import { grpcDriver } from "./drivers/grpc.ts";
import { runTable } from "./run.ts";

runTable(grpcDriver);
