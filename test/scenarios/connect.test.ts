import { connectDriver } from "./drivers/connect-client.ts";
import { runTable } from "./run.ts";

runTable(connectDriver);
