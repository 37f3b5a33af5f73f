/** The same tables where Node's HTTP reads every request: nobody may see which of the two readers it is. */
import { describe } from "vitest";
import { jsonRpcDriver } from "./drivers/jsonrpc.ts";
import { restDriver } from "./drivers/rest.ts";
import { jsonRpcDriverV03 } from "./drivers/v03-jsonrpc.ts";
import { restDriverV03 } from "./drivers/v03-rest.ts";
import { runTable } from "./run.ts";

describe("by Node's HTTP", () => {
  for (const kind of [jsonRpcDriver, restDriver, jsonRpcDriverV03, restDriverV03]) {
    runTable(kind, undefined, { listen: { host: "127.0.0.1", port: 0, leanHttp: false } });
  }
});
