/** The whole scenario table behind Sentinel, over JSON-RPC. */
import { afterAll, describe } from "vitest";
import { jsonRpcDriver } from "../scenarios/drivers/jsonrpc.ts";
import { runTable } from "../scenarios/run.ts";
import { Servers, startSentinel } from "./servers.ts";

const servers = new Servers();
afterAll(() => servers.stop());

describe("behind Redis Sentinel", () => {
  runTable(jsonRpcDriver, async () => {
    const { name, sentinels } = await startSentinel(servers);
    return { redis: { sentinel: { name, nodes: sentinels }, waitReplicas: 1 } };
  });
});
