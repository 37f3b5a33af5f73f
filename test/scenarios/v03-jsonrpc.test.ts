import { jsonRpcDriverV03 } from "./drivers/v03-jsonrpc.ts";
import { runTable } from "./run.ts";

runTable(jsonRpcDriverV03);
