import { setTimeout as sleep } from "node:timers/promises";
import {
  type ClientReadableStream,
  credentials,
  Metadata,
  makeGenericClientConstructor,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterEach, describe, expect, it } from "vitest";
import { AUTH } from "../unit/transports/a2a-server.ts";
import { closeGrpcServers, startGrpcServer } from "./grpc-server.ts";

const definition = loadSync("lf/a2a/v1/a2a.proto", {
  includeDirs: ["proto", "node_modules/google-proto-files"],
  oneofs: true,
  enums: String,
});
const A2AClient = makeGenericClientConstructor(definition["lf.a2a.v1.A2AService"] as never, "A2AService");

interface Client {
  getTask(
    request: object,
    metadata: Metadata,
    done: (error: ServiceError | null, response?: { id: string }) => void,
  ): void;
  subscribeToTask(request: object, metadata: Metadata): ClientReadableStream<object>;
  close(): void;
  getChannel(): { getConnectivityState(connect: boolean): number };
}

const metadata = new Metadata();
metadata.set("authorization", AUTH.authorization);

const KEEPALIVE = {
  "grpc.keepalive_time_ms": 100,
  "grpc.keepalive_timeout_ms": 1_000,
  "grpc.keepalive_permit_without_calls": 1,
};

const clients: Client[] = [];

function clientOf(port: number, options: object): Client {
  const client = new A2AClient(
    `127.0.0.1:${port}`,
    credentials.createInsecure(),
    options,
  ) as unknown as Client;
  clients.push(client);
  return client;
}

function getTask(client: Client, id: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    client.getTask({ id }, metadata, (error, task) => (error === null ? resolve(task?.id) : reject(error)));
  });
}

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await closeGrpcServers();
});

describe("the listener under grpc-js with keepalive", () => {
  it("G7 accepts frequent pings, with a silent stream and without calls", async () => {
    let sessionsSeen = 0;
    const server = await startGrpcServer();
    const client = clientOf(server.listener.port, KEEPALIVE);
    const stream = client.subscribeToTask({ id: "wait" }, metadata);
    let ended: number | undefined;
    stream.on("data", () => {
      sessionsSeen += 1;
    });
    stream.on("error", () => {});
    stream.on("status", ({ code }: { code: number }) => {
      ended = code;
    });
    await expect.poll(() => sessionsSeen).toBe(1);
    await sleep(1_500);
    expect(ended).toBeUndefined();
    stream.cancel();
    await sleep(1_500);
    // READY still: no GOAWAY came in all that time.
    expect(client.getChannel().getConnectivityState(false)).toBe(2);
    expect(await getTask(client, "T1")).toBe("T1");
  });

  it("G2 a call in flight survives the GOAWAY while its client pings", async () => {
    const server = await startGrpcServer();
    const client = clientOf(server.listener.port, KEEPALIVE);
    const slow = getTask(client, "slow");
    await expect.poll(() => server.slow.length).toBe(1);
    const drained = server.listener.drain(10_000);
    await sleep(1_500);
    server.slow[0]?.answer();
    expect(await slow).toBe("slow");
    await drained;
  });

  it("G1 a new call after the GOAWAY goes elsewhere, and fails as UNAVAILABLE when there is nowhere", async () => {
    const server = await startGrpcServer();
    const client = clientOf(server.listener.port, {});
    const slow = getTask(client, "slow");
    await expect.poll(() => server.slow.length).toBe(1);
    const drained = server.listener.drain(3_000);
    // The GOAWAY of this client waits for half of the time (G2).
    await sleep(1_700);
    await expect(getTask(client, "T1")).rejects.toMatchObject({ code: status.UNAVAILABLE });
    expect(server.slow).toHaveLength(1);
    server.slow[0]?.answer();
    await slow;
    await drained;
  });

  it("loses no call of a steady stream of them while the server drains", async () => {
    const server = await startGrpcServer();
    const client = clientOf(server.listener.port, {});
    const failures: ServiceError[] = [];
    const calls: Promise<unknown>[] = [];
    let drained: Promise<void> | undefined;
    for (let index = 0; index < 60; index += 1) {
      if (index === 30) drained = server.listener.drain(5_000);
      calls.push(getTask(client, "T1").catch((error: ServiceError) => failures.push(error)));
      if (index % 5 === 0) await sleep(1);
    }
    await Promise.all(calls);
    await drained;
    // Calls that found no server may fail, but none may be in doubt: only UNAVAILABLE, never CANCELLED or INTERNAL.
    expect(
      [...new Set(failures.map(({ code }) => code))].filter((code) => code !== status.UNAVAILABLE),
    ).toEqual([]);
  });

  it("G13 a stream that outlives the limit ends as UNAVAILABLE", async () => {
    const server = await startGrpcServer();
    const client = clientOf(server.listener.port, KEEPALIVE);
    const stream = client.subscribeToTask({ id: "wait" }, metadata);
    let ended: number | undefined;
    let received = 0;
    stream.on("data", () => {
      received += 1;
    });
    stream.on("error", () => {});
    stream.on("status", ({ code }: { code: number }) => {
      ended = code;
    });
    await expect.poll(() => received).toBe(1);
    await server.listener.drain(300);
    await expect.poll(() => ended).toBe(status.UNAVAILABLE);
  });
});
