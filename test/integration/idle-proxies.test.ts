/** Proxies that cut what is silent, as nginx does after a minute; here after a second and a half. */
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { Peer, TestWorker, workerTransport } from "../scenarios/actors.ts";
import { grpcByConnectDriver } from "../scenarios/drivers/connect-client.ts";
import { grpcDriver } from "../scenarios/drivers/grpc.ts";
import { jsonRpcDriver } from "../scenarios/drivers/jsonrpc.ts";
import { restDriver } from "../scenarios/drivers/rest.ts";

interface Proxy {
  readonly url: string;
  /** Connections that it closed because of their silence. */
  readonly cut: number;
  close(): void;
}

/** Closes a connection, in order, on which the server has said nothing for so long. */
async function startProxy(port: number, idleMs: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let cut = 0;
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    const end = () => {
      clearTimeout(timer);
      client.end();
      upstream.end();
    };
    const timer = setTimeout(() => {
      cut += 1;
      end();
    }, idleMs);
    upstream.on("data", () => timer.refresh());
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", end).on("close", end);
    }
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    get cut() {
      return cut;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ streams: { keepAliveSeconds: 1 } });
});
afterAll(() => gateway?.stop());

describe("a proxy that cuts silent connections", () => {
  it.each([grpcDriver, grpcByConnectDriver, jsonRpcDriver, restDriver])(
    "G8 E8 a silent stream of $name outlives its limit, since something comes in time",
    async (kind) => {
      const proxy = await startProxy(gateway.port, 2500);
      const driver = await kind.connect({ url: proxy.url, authority: new URL(proxy.url).host });
      const watch = await new Peer(driver, { token: await gateway.vend() }).stream("say nothing");
      const { id } = await watch.task();
      await sleep(6000);
      expect(proxy.cut).toBe(0);
      await new TestWorker(workerTransport(gateway.url, await gateway.vendWorker())).do(id);
      await watch.all();
      expect(watch.briefs.at(-1)).toBe("status COMPLETED");
      await driver.close();
      proxy.close();
    },
  );

  it("G4 a client whose connection is closed again and again keeps nothing of it, and neither does the gateway", async () => {
    const proxy = await startProxy(gateway.port, 500);
    const sessions = new Http2SessionManager(proxy.url);
    const token = await gateway.vend();
    const client = createClient(
      A2AService,
      createGrpcTransport({ baseUrl: proxy.url, sessionManager: sessions }),
    );
    const before = await openSockets();
    for (let round = 1; round <= 8; round += 1) {
      await client.listTasks({}, { headers: { authorization: `Bearer ${token}` } });
      await expect.poll(() => proxy.cut, { timeout: 5000 }).toBe(round);
      await sleep(20);
    }
    // Private, but it is what grew in the report.
    const { shuttingDown } = sessions as unknown as { shuttingDown: readonly unknown[] };
    expect(shuttingDown.length).toBeLessThanOrEqual(1);
    await expect.poll(openSockets).toBe(before);
    proxy.close();
  });
});

/** Sockets that this process, gateway and client in one, has open. */
async function openSockets(): Promise<number> {
  await sleep(50);
  const sockets = process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap");
  return sockets.length;
}
