import { grpcDriverV03 } from "./drivers/v03-grpc.ts";
import { runTable } from "./run.ts";

runTable(grpcDriverV03);
