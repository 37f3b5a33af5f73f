import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import { A2AService, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { parseConfig } from "../../src/config/load.ts";
import { type Gateway, startGateway } from "../../src/server/gateway.ts";
import { createJsonLog } from "../../src/telemetry/log.ts";
import { createVendor } from "../gateway.ts";
import { parse, scrape, sum } from "./scrape.ts";

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly method?: string;
  readonly [field: string]: unknown;
}

const lines: string[] = [];
let dataDir: string;
let gateway: Gateway;
let credential: string;
let worker: string;

const logged = (match: Partial<LogLine>): LogLine[] =>
  lines
    .map((line) => JSON.parse(line) as LogLine)
    .filter((line) => Object.entries(match).every(([name, value]) => line[name] === value));

async function eventually(check: () => void | Promise<void>): Promise<void> {
  for (const end = Date.now() + 5000; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

function bearer(token: string) {
  return createGrpcTransport({
    baseUrl: gateway.url,
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        request.header.set("a2a-version", "1.0");
        return next(request);
      },
    ],
  });
}

const send = (text: string) => ({
  message: {
    messageId: randomUUID(),
    role: Role.USER,
    parts: [{ content: { case: "text" as const, value: text } }],
  },
  configuration: { returnImmediately: true },
});

function jsonRpc(method: string, params: object, token = credential, headers = {}): Promise<Response> {
  return fetch(`${gateway.url}/`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "a2a-version": "1.0",
      authorization: `Bearer ${token}`,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
}

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "baton-"));
  const config = parseConfig({
    listen: { port: 0 },
    admin: { port: 0 },
    dataDir,
    leases: { sweepSeconds: 0.05 },
    agents: { default: { queues: ["default", "other"], defaultQueue: "default" } },
  });
  gateway = await startGateway(config, {
    log: createJsonLog("info", { write: (line) => void lines.push(line) }),
  });
  const vendor = createVendor(gateway.adminUrl, gateway.adminToken);
  credential = await vendor.vend();
  worker = await vendor.vendWorker();
});

afterAll(async () => {
  await gateway?.stop(1000);
  await rm(dataDir, { recursive: true, force: true });
});

describe("a line for each call", () => {
  it("says method, agent, endpoint, transport, outcome, time and the request id of the answer", async () => {
    const response = await jsonRpc("GetTask", { id: "there-is-none" });
    const id = response.headers.get("x-request-id");
    expect(id).toBeTruthy();
    await eventually(() => expect(logged({ requestId: id as string })).toHaveLength(1));
    expect(logged({ requestId: id as string })[0]).toMatchObject({
      level: "info",
      method: "lf.a2a.v1.A2AService/GetTask",
      agent: "default",
      endpoint: expect.stringMatching(/^(?!sbk_).+/),
      transport: "jsonrpc",
      version: "1.0",
      kind: "TaskNotFound",
      stream: false,
      ms: expect.any(Number),
    });
  });

  it("names the caller's trace, so that its spans and our lines can be put together", async () => {
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    await jsonRpc("GetTask", { id: "x" }, credential, { traceparent: `00-${trace}-00f067aa0ba902b7-01` });
    await jsonRpc("GetTask", { id: "x" }, credential, { traceparent: `00-${"g".repeat(32)}-1-01` });
    await eventually(() => expect(logged({ trace })).toHaveLength(1));
    expect(lines.join("")).not.toContain("gggg");
  });

  it("SB-56 names neither the credential nor what was said, on any transport", async () => {
    await createClient(A2AService, bearer(credential)).sendMessage(send("a private matter"));
    await jsonRpc("GetTask", { id: "x" }, `sbk_${"Z".repeat(43)}`);
    await eventually(() => expect(logged({ kind: "Unauthenticated" }).length).toBeGreaterThan(0));
    expect(logged({ kind: "Unauthenticated" })[0]).toMatchObject({
      method: "_OTHER",
      endpoint: "",
      transport: "jsonrpc",
    });
    const text = lines.join("");
    for (const secret of [credential, worker, gateway.adminToken, "ZZZZ", "a private matter"]) {
      expect(text).not.toContain(secret);
    }
  });

  it("is written once for a stream, at its end", async () => {
    const leave = new AbortController();
    const client = createClient(A2AService, bearer(credential));
    const { message } = send("watch this");
    const stream = client.sendStreamingMessage({ message }, { signal: leave.signal });
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    await eventually(async () => expect(sum(await scrape(gateway.adminUrl), "baton_streams_open")).toBe(1));
    const method = "lf.a2a.v1.A2AService/SendStreamingMessage";
    expect(logged({ method })).toHaveLength(0);
    leave.abort();
    await iterator.next().catch(() => {});
    await eventually(() => expect(logged({ method })).toHaveLength(1));
    expect(logged({ method })[0]).toMatchObject({ stream: true, kind: "Canceled", transport: "grpc" });
    await eventually(async () => {
      const series = await scrape(gateway.adminUrl);
      expect(sum(series, "baton_streams_open")).toBe(0);
      const labels = { rpc_method: method, rpc_response_status_code: "CANCELLED" };
      expect(sum(series, "baton_stream_duration_seconds_count", labels)).toBe(1);
    });
  });
});

describe("a stream that its reader leaves", () => {
  it.each([
    ["jsonrpc", "/", (params: object) => ({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params })],
    ["rest", "/message:stream", (params: object) => params],
  ])("is written once on %s", async (transport, path, body) => {
    const leave = new AbortController();
    const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "watch" }] };
    const response = await fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "text/event-stream",
        "a2a-version": "1.0",
        authorization: `Bearer ${credential}`,
      },
      body: JSON.stringify(body({ message })),
      signal: leave.signal,
    });
    await response.body?.getReader().read();
    const match = { method: "lf.a2a.v1.A2AService/SendStreamingMessage", transport };
    expect(logged(match)).toHaveLength(0);
    leave.abort();
    await eventually(() => expect(logged(match)).toHaveLength(1));
    expect(logged(match)[0]).toMatchObject({ stream: true, kind: "Canceled" });
  });
});

describe("/metrics on the admin port", () => {
  it("is the text format of Prometheus, each family and each series once", async () => {
    const response = await fetch(`${gateway.adminUrl}/metrics`);
    expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    const series = parse(await response.text());
    expect(sum(series, "baton_build_info")).toBe(1);
    expect(sum(series, "baton_ready")).toBe(1);
    expect(sum(series, "baton_redis_up")).toBe(1);
    expect(sum(series, "baton_redis_round_trip_seconds")).toBeGreaterThan(0);
    expect(sum(series, "process_cpu_seconds_total")).toBeGreaterThan(0);
    expect(series.has("baton_push_relayed_total")).toBe(true);
    expect(series.has('baton_push_attempt_seconds_bucket{le="+Inf"}')).toBe(true);
  });

  it("is not on the port of callers", async () => {
    expect((await fetch(`${gateway.url}/metrics`)).status).not.toBe(200);
  });

  it("counts the same call under the same method on every transport, with its gRPC status", async () => {
    const before = await scrape(gateway.adminUrl);
    await jsonRpc("GetTask", { id: "none" });
    await createClient(A2AService, bearer(credential))
      .getTask({ id: "none" })
      .catch(() => {});
    await fetch(`${gateway.url}/tasks/none`, {
      headers: { authorization: `Bearer ${credential}`, "a2a-version": "1.0" },
    });
    const after = await scrape(gateway.adminUrl);
    for (const transport of ["jsonrpc", "grpc", "rest"]) {
      const name = "rpc_server_call_duration_seconds_count";
      const labels = {
        rpc_method: "lf.a2a.v1.A2AService/GetTask",
        rpc_response_status_code: "NOT_FOUND",
        transport,
      };
      expect(sum(after, name, labels) - sum(before, name, labels), transport).toBe(1);
    }
  });

  it("shows todos where they stand and how long the next one has waited", async () => {
    const gauge = async (state: string) =>
      sum(await scrape(gateway.adminUrl), "baton_todos", { agent: "default", queue: "default", state });
    const [ready, leased] = [await gauge("ready"), await gauge("leased")];
    await createClient(A2AService, bearer(credential)).sendMessage(send("one more"));
    expect(await gauge("ready")).toBe(ready + 1);
    const age = sum(await scrape(gateway.adminUrl), "baton_oldest_ready_age_seconds", { queue: "default" });
    expect(age).toBeGreaterThan(0);
    expect(age).toBeLessThan(60);
    await createClient(WorkerService, bearer(worker)).claim({ queue: "default" });
    expect(await gauge("ready")).toBe(ready);
    expect(await gauge("leased")).toBe(leased + 1);
  });

  it("counts rounds of housekeeping", async () => {
    await eventually(async () => {
      const series = await scrape(gateway.adminUrl);
      expect(sum(series, "baton_sweep_rounds_total", { agent: "default", result: "ok" })).toBeGreaterThan(0);
    });
  });
});
