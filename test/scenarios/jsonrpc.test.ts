import { jsonRpcDriver } from "./drivers/jsonrpc.ts";
import { runTable } from "./run.ts";

runTable(jsonRpcDriver);
