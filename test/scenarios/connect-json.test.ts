import { connectJsonDriver } from "./drivers/connect-json.ts";
import { runTable } from "./run.ts";

runTable(connectJsonDriver);
