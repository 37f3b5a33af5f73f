import { setTimeout as sleep } from "node:timers/promises";
import {
  type ClientReadableStream,
  credentials,
  makeGenericClientConstructor,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterEach, describe, expect, it } from "vitest";
import { createHealth, type Health } from "../../src/transports/grpc-health/health.ts";
import { closeGrpcServers, startGrpcServer } from "./grpc-server.ts";

const definition = loadSync("proto/grpc/health/v1/health.proto", {
  enums: String,
  defaults: true,
  keepCase: true,
});
const HealthClient = makeGenericClientConstructor(
  definition["grpc.health.v1.Health"] as ConstructorParameters<typeof Object>[0] as never,
  "Health",
);

interface StatusMessage {
  readonly status: string;
}

/** The methods that grpc-js makes from the definition. */
interface Client {
  check(request: object, done: (error: ServiceError | null, response?: StatusMessage) => void): void;
  list(
    request: object,
    done: (error: ServiceError | null, response?: { statuses: Record<string, StatusMessage> }) => void,
  ): void;
  watch(request: object): ClientReadableStream<StatusMessage>;
  close(): void;
}

const clients: Client[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await closeGrpcServers();
});

async function start(): Promise<{ health: Health; client: Client; drain(ms: number): Promise<void> }> {
  const health = createHealth();
  const { listener } = await startGrpcServer({ plainServices: [health.routes] });
  const client = new HealthClient(
    `127.0.0.1:${listener.port}`,
    credentials.createInsecure(),
  ) as unknown as Client;
  clients.push(client);
  return { health, client, drain: (ms) => listener.drain(ms) };
}

function call<T>(invoke: (done: (error: ServiceError | null, response?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    invoke((error, response) => (error === null ? resolve(response as T) : reject(error)));
  });
}

function watch(client: Client, service: string) {
  const stream = client.watch({ service });
  const seen: string[] = [];
  let ended: number | undefined;
  stream.on("data", (message: StatusMessage) => seen.push(message.status));
  stream.on("error", () => {});
  stream.on("status", ({ code }: { code: number }) => {
    ended = code;
  });
  return { stream, seen, ended: () => ended };
}

describe("gRPC health, with the client of grpc-js", () => {
  it("Check needs no credential and tells the server and each service", async () => {
    const { health, client } = await start();
    const check = (service: string) => call<StatusMessage>((done) => client.check({ service }, done));
    expect(await check("")).toEqual({ status: "SERVING" });
    await expect(check("a.B")).rejects.toMatchObject({ code: status.NOT_FOUND });
    health.set("a.B", "NOT_SERVING");
    expect(await check("a.B")).toEqual({ status: "NOT_SERVING" });
    health.set("a.B", "SERVING");
    expect(await check("a.B")).toEqual({ status: "SERVING" });
  });

  it("List tells all, and refuses beyond 100", async () => {
    const { health, client } = await start();
    health.set("a.B", "UNKNOWN");
    const list = () => call<{ statuses: Record<string, StatusMessage> }>((done) => client.list({}, done));
    expect((await list()).statuses).toEqual({ "": { status: "SERVING" }, "a.B": { status: "UNKNOWN" } });
    for (let index = 0; index < 100; index += 1) health.set(`s${index}`, "SERVING");
    await expect(list()).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  });

  it("Watch tells the present status at once and each change, but no repetition", async () => {
    const { health, client } = await start();
    const known = watch(client, "");
    const unknown = watch(client, "later");
    await expect.poll(() => [known.seen, unknown.seen]).toEqual([["SERVING"], ["SERVICE_UNKNOWN"]]);
    health.set("", "SERVING");
    health.set("other", "NOT_SERVING");
    health.set("later", "SERVING");
    await expect.poll(() => unknown.seen).toEqual(["SERVICE_UNKNOWN", "SERVING"]);
    health.set("", "NOT_SERVING");
    await expect.poll(() => known.seen).toEqual(["SERVING", "NOT_SERVING"]);
    known.stream.cancel();
    unknown.stream.cancel();
    await sleep(50);
    expect(unknown.seen).toEqual(["SERVICE_UNKNOWN", "SERVING"]);
  });

  it("G13 shutdown tells watchers NOT_SERVING, ends them as UNAVAILABLE and lets the drain finish", async () => {
    const { health, client, drain } = await start();
    const watching = watch(client, "");
    await expect.poll(() => watching.seen).toEqual(["SERVING"]);
    health.shutdown();
    health.set("", "SERVING");
    const began = Date.now();
    await drain(5_000);
    expect(Date.now() - began).toBeLessThan(3_000);
    await expect.poll(() => watching.ended()).toBe(status.UNAVAILABLE);
    expect(watching.seen).toEqual(["SERVING", "NOT_SERVING"]);
  });
});
