import { restDriver } from "./drivers/rest.ts";
import { runTable } from "./run.ts";

runTable(restDriver);
