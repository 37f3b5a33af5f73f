/** The whole scenario table on a Redis Cluster of three masters, over gRPC. */
import { afterAll, describe } from "vitest";
import { grpcDriver } from "../scenarios/drivers/grpc.ts";
import { runTable } from "../scenarios/run.ts";
import { Servers, startCluster } from "./servers.ts";

const servers = new Servers();
afterAll(() => servers.stop());

describe("on a Redis Cluster", () => {
  runTable(grpcDriver, async () => {
    const { nodes } = await startCluster(servers);
    return { redis: { cluster: { nodes } } };
  });
});
