/** Gateways on one Redis, with the records in reach of the test. */
import { type Client, createClient } from "@connectrpc/connect";
import { EndpointService } from "../../gen/baton/admin/v1/endpoint_pb.js";
import { TodoService } from "../../gen/baton/admin/v1/todo_pb.js";
import { connectRedis } from "../../src/store/connect-redis.ts";
import { freePorts, type Server, Servers } from "../cluster/servers.ts";
import { startTestGateway, type TestGateway, type VendOptions } from "../gateway.ts";
import { bearer, type Sender, senderOf, workerOf } from "./client.ts";
import { Rig } from "./rig.ts";

export interface World {
  readonly gateways: readonly TestGateway[];
  /** The first gateway. */
  readonly gateway: TestGateway;
  readonly redis: Server;
  readonly redisUrl: string;
  /** The records of the default agent. */
  readonly rig: Rig;
  readonly endpoints: Client<typeof EndpointService>;
  readonly todos: Client<typeof TodoService>;
  sender(options?: VendOptions): Promise<Sender>;
  worker(options?: VendOptions): Promise<ReturnType<typeof workerOf>>;
  stop(): Promise<void>;
}

export async function startWorld(document: Record<string, unknown> = {}, gateways = 1): Promise<World> {
  const servers = new Servers();
  const [port = 0] = await freePorts(1);
  const redis = await servers.start(port, ["--appendonly", "yes"]);
  const redisUrl = `redis://127.0.0.1:${port}`;
  const started: TestGateway[] = [];
  for (let i = 0; i < gateways; i += 1) {
    started.push(await startTestGateway({ redis: { url: redisUrl }, ...document }));
  }
  const [gateway] = started;
  if (gateway === undefined) throw new Error("a world has a gateway");
  const connection = await connectRedis({ target: { kind: "single", url: redisUrl } });
  const admin = bearer(gateway.adminUrl, gateway.adminToken);
  return {
    gateways: started,
    gateway,
    redis,
    redisUrl,
    rig: new Rig(connection, 50, "default"),
    endpoints: createClient(EndpointService, admin),
    todos: createClient(TodoService, admin),
    sender: async (options) => senderOf(gateway.url, await gateway.vend(options)),
    worker: async (options) => workerOf(gateway.url, await gateway.vendWorker(options)),
    async stop() {
      await Promise.all(started.map((each) => each.stop()));
      await connection.close();
      await servers.stop();
    },
  };
}
