import { restDriverV03 } from "./drivers/v03-rest.ts";
import { runTable } from "./run.ts";

runTable(restDriverV03);
