import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { startOpenWopHost } from "../../examples/openwop-host/host.ts";
import { parseConfig } from "../../src/config/load.ts";
import { otelSettings } from "../../src/config/otel-environment.ts";
import { traceContextOf } from "../../src/domain/trace-context.ts";
import { makeSecretKey } from "../../src/push/secret-box.ts";
import { startGateway } from "../../src/server/gateway.ts";
import { activeSpan, inChildSpan, runInSpan } from "../../src/telemetry/tracing/active.ts";
import { createTracer } from "../../src/telemetry/tracing/otlp.ts";
import { Worker } from "../../src/worker/index.ts";
import { createVendor, startTestGateway } from "../gateway.ts";
import { connectMcp } from "../mcp/rig.ts";
import { RpcClient } from "../openwop/rpc.ts";
import { openwopAgent } from "../openwop/setup.ts";
import { startPushGateway } from "../push/gateway.ts";
import { startPushReceiver } from "../push/receiver.ts";
import { startTestRedis } from "../redis-server.ts";
import { type Collector, startCollector } from "./collector.ts";
import { child, expectTree } from "./trace-tree.ts";

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** Undone after the test. */
async function begun<T>(starting: Promise<T>, stop: (started: T) => Promise<unknown>): Promise<T> {
  const started = await starting;
  undo.push(() => stop(started));
  return started;
}

const collecting = () => begun(startCollector(), (collector) => collector.close());
const traced = (collector: Pick<Collector, "url">, more: object = {}) => ({
  telemetry: { traces: { otlpUrl: collector.url, ...more } },
});

function newTrace() {
  const traceId = randomUUID().replaceAll("-", "");
  const spanId = traceId.slice(0, 16);
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01` } };
}

const SEND = "lf.a2a.v1.A2AService/SendMessage";

describe("more than one process", () => {
  it("the trace goes on where a second replica hands the work out, whichever delivers the pushes", async () => {
    const collector = await collecting();
    const redis = await begun(startTestRedis(), (server) => server.stop());
    const secretKey = makeSecretKey();
    const shared = { redis: { url: redis.server.url } };
    const replica = (serviceName: string) =>
      begun(startPushGateway({ secretKey }, { ...shared, ...traced(collector, { serviceName }) }), (one) =>
        one.stop(),
      );
    const first = await replica("first");
    const second = await replica("second");
    const hook = await begun(startPushReceiver(), (receiver) => receiver.close());
    const submitter = await first.vend({ push: true });
    const credential = await first.vendWorker();
    const root = newTrace();
    await first.rpc(
      submitter,
      "SendMessage",
      {
        message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "please" }] },
        configuration: { returnImmediately: true, taskPushNotificationConfig: { url: hook.url } },
      },
      root.headers,
    );
    const worker = new Worker({ url: second.url, credential, handler: () => "done", stopGrace: 1 });
    worker.start();
    undo.push(() => worker.stop());
    await hook.until(4);
    const ofTrace = () => collector.spans.filter(({ traceId }) => traceId === root.traceId);
    await collector.until(() => {
      const spans = ofTrace();
      return (
        spans.filter(({ name }) => name === "POST push").length === 4 &&
        spans.some(({ name }) => name.endsWith("/Complete"))
      );
    });
    const spans = ofTrace();
    const call = child(spans, root.spanId, SEND);
    expect(call.service).toBe("first");
    expectTree(
      spans.filter(({ spanId }) => spanId !== root.spanId),
      call.spanId,
    );
    const receive = child(spans, child(spans, call, "send default"), "receive default");
    expect(receive.service).toBe("second");
    expect(child(spans, receive, "baton.worker.v1.WorkerService/Complete").service).toBe("second");
  });
});

describe("the way to the collector", () => {
  it("a stop sends what was not sent yet", async () => {
    const collector = await collecting();
    const gateway = await startTestGateway(traced(collector, { headers: { "x-api-key": "k1" } }));
    const credential = await gateway.vend();
    const root = newTrace();
    const answer = await new RpcClient(gateway.url, credential).call("GetTask", { id: "none" }, root.headers);
    expect(answer.error.code).toBe(-32001);
    await gateway.stop();
    expect(collector.spans.some(({ parentId }) => parentId === root.spanId)).toBe(true);
    expect(collector.requests[0]).toMatchObject({ "x-api-key": "k1" });
  });

  it.each([
    ["that is not there", async () => "http://127.0.0.1:9"],
    [
      "that never answers",
      async () => {
        const server = createServer(() => {});
        await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
        undo.push(async () => {
          server.closeAllConnections();
          server.close();
        });
        return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      },
    ],
  ])("a collector %s harms no call, holds up no stop and floods no log", async (_name, address) => {
    const url = await address();
    const warnings: string[] = [];
    const dataDir = await begun(mkdtemp(join(tmpdir(), "baton-")), (folder) =>
      rm(folder, { recursive: true }),
    );
    const config = parseConfig({ listen: { port: 0 }, admin: { port: 0 }, dataDir, ...traced({ url }) });
    const ignore = () => {};
    const log = {
      info: ignore,
      error: (fields: object) => warnings.push(JSON.stringify(fields)),
      warn: (_fields: object, message: string) => warnings.push(message),
    };
    const gateway = await startGateway(config, { log });
    const credential = await createVendor(gateway.adminUrl, gateway.adminToken).vend();
    const client = new RpcClient(gateway.url, credential);
    for (let round = 0; round < 4; round++) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => client.call("GetTask", { id: "none" })),
      );
      expect(answers.map(({ error }) => error.code)).toEqual(Array(8).fill(-32001));
      await new Promise((next) => setTimeout(next, 700));
    }
    const before = performance.now();
    await gateway.stop(1000);
    expect(performance.now() - before).toBeLessThan(6000);
    expect(warnings.filter((line) => !line.includes("trace"))).toEqual([]);
    expect(warnings.length).toBeLessThanOrEqual(1);
  });

  it("an answer that says no is told once, with its reason", async () => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(401).end();
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    undo.push(async () => server.close());
    const lost: unknown[] = [];
    const { port } = server.address() as AddressInfo;
    const tracer = createTracer({
      settings: {
        otlpUrl: `http://127.0.0.1:${port}`,
        headers: {},
        sampleRatio: 1,
        serviceName: "baton",
      },
      version: "1",
      onLost: (error) => lost.push(error),
    });
    for (let round = 0; round < 2; round++) {
      tracer.start("one", { kind: "internal" }).end();
      await new Promise((next) => setTimeout(next, 1300));
    }
    await tracer.stop(2000);
    expect(lost.map(String)).toEqual([expect.stringContaining("Unauthorized")]);
  });

  it("traces begun here are recorded by their share, and a caller's decision holds", async () => {
    const collector = await collecting();
    const gateway = await startTestGateway(traced(collector, { sampleRatio: 0 }));
    const client = new RpcClient(gateway.url, await gateway.vend());
    await client.call("GetTask", { id: "none" });
    const root = newTrace();
    await client.call("GetTask", { id: "none" }, root.headers);
    await gateway.stop();
    expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]));
  });
});

describe("without a collector", () => {
  it("the OpenTelemetry SDK is not loaded, and no context is carried along", async () => {
    // The API alone is loaded by prom-client.
    const gatewayModule = resolve("src/server/gateway.ts");
    const script = `
      import { registerHooks } from "node:module";
      const loaded = [];
      registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
      await import(${JSON.stringify(gatewayModule)});
      console.log(JSON.stringify(loaded.filter((url) => /@opentelemetry.(?!api)/.test(url))), loaded.length);
    `;
    const args = ["--input-type=module", "-e", script];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toMatch(/^\[\] \d{3,}/);
  });

  it("a worker is told the trace of the client, and its calls go on from there", async () => {
    const gateway = await begun(startTestGateway(), (one) => one.stop());
    const client = new RpcClient(gateway.url, await gateway.vend());
    const root = newTrace();
    const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "x" }] };
    const configuration = { returnImmediately: true };
    await client.call("SendMessage", { message, configuration }, root.headers);
    const given = Promise.withResolvers<object>();
    const worker = new Worker({
      url: gateway.url,
      credential: await gateway.vendWorker(),
      handler: ({ traceHeaders }) => given.resolve(traceHeaders),
    });
    worker.start();
    undo.push(() => worker.stop());
    expect(await given.promise).toEqual(root.headers);
  });
});

describe("other doors and back ends", () => {
  it("a tool call of MCP is a span below what its _meta names", async () => {
    const collector = await collecting();
    const gateway = await startTestGateway(traced(collector));
    const peer = await connectMcp(gateway.url, await gateway.vend({ verbs: ["create_for", "claim_next"] }));
    const root = newTrace();
    await peer.client.callTool({ name: "create_for", arguments: { title: "x" }, _meta: root.headers });
    await peer.call("claim_next", {});
    await peer.close();
    await gateway.stop();
    const spans = collector.spans.filter(({ traceId }) => traceId === root.traceId);
    const call = child(spans, root.spanId, "tools/call create_for");
    expect(call.attributes).toMatchObject({
      "baton.transport": "mcp",
      "mcp.method.name": "tools/call",
      "gen_ai.tool.name": "create_for",
      "rpc.status_code": "OK",
    });
    child(spans, child(spans, call, "send default"), "receive default");
  });

  it.each([1, 2] as const)(
    "OpenWOP, major %i: the host is called within the trace, and pushes are",
    async (major) => {
      const collector = await collecting();
      const host = await begun(startOpenWopHost(), (one) => one.stop());
      const hook = await begun(startPushReceiver(), (receiver) => receiver.close());
      const agents = { echo: openwopAgent(host.url, "echo", { major }) };
      const gateway = await startPushGateway({}, { agents, defaultAgent: "echo", ...traced(collector) });
      const client = new RpcClient(gateway.url, await gateway.vend({ agent: "echo", push: true }));
      const root = newTrace();
      const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "hello" }] };
      const configuration = { taskPushNotificationConfig: { url: hook.url } };
      const answer = await client.call("SendMessage", { message, configuration }, root.headers);
      expect(answer.result.task.status.state).toBe("TASK_STATE_COMPLETED");
      const done = (body: string) => body.includes("TASK_STATE_COMPLETED");
      for (let count = 1; !hook.hits.some(({ body }) => done(body)); count++) await hook.until(count);
      await gateway.stop();
      const spans = collector.spans.filter(({ traceId }) => traceId === root.traceId);
      const call = child(spans, root.spanId, SEND);
      expectTree(spans, call.spanId);
      const create = child(spans, call, `POST ${major === 1 ? "/v1" : ""}/runs`);
      expect(create.kind).toBe(3);
      expect(create.attributes).toMatchObject({
        "http.request.method": "POST",
        "http.response.status_code": 201,
        "server.address": "127.0.0.1",
      });
      const asked = host.requests.find(({ method, path }) => method === "POST" && path.endsWith("/runs"));
      expect(asked?.headers.traceparent).toBe(`00-${create.traceId}-${create.spanId}-01`);
      const posts = spans.filter(({ name }) => name === "POST push");
      expect(posts.length).toBe(hook.hits.length);
      const made = child(spans, call, "EVALSHA run_created");
      expect(new Set(posts.map(({ parentId }) => parentId))).toEqual(new Set([made.spanId]));
    },
  );
});

describe("W3C Trace Context", () => {
  const [trace, span] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];

  it("reads what is known of a later version, and answers in ours", () => {
    expect(traceContextOf(`cc-${trace}-${span}-01-what-comes-next`)).toEqual({
      traceparent: `00-${trace}-${span}-01`,
    });
    expect(traceContextOf(`cc-${trace}-${span}-01.`)).toBeUndefined();
  });

  it("keeps of tracestate what can be kept", () => {
    const state = (text: string) => traceContextOf(`00-${trace}-${span}-01`, text)?.tracestate;
    expect(state("a=1 , b@c=x;y:z")).toBe("a=1,b@c=x;y:z");
    expect(state("a=1,UPPER=2,b=\r\nx: y,c=3")).toBe("a=1,c=3");
    expect(state(`a=${"x".repeat(256)},b=${"y".repeat(256)}`)).toBeUndefined();
    expect(traceContextOf("nothing", "a=1")).toBeUndefined();
  });
});

describe("the standard variables", () => {
  it.each([
    [{}, {}],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318/" }, { otlpUrl: "http://c:4318/v1/traces" }],
    [
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://t/in",
        OTEL_SERVICE_NAME: "front",
      },
      { otlpUrl: "https://t/in", serviceName: "front" },
    ],
    [{ OTEL_TRACES_SAMPLER: "always_off" }, { sampleRatio: 0 }],
    [
      { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" },
      { sampleRatio: 0.25 },
    ],
    [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "many" }, { sampleRatio: 1 }],
    [{ OTEL_TRACES_SAMPLER: "xray" }, {}],
    [{ OTEL_SDK_DISABLED: "TRUE", OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318" }, { otlpUrl: null }],
    [{ OTEL_TRACES_EXPORTER: "none", OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318" }, { otlpUrl: null }],
  ])("%j", (environment, settings) => {
    expect(otelSettings(environment)).toEqual(settings);
  });
});

describe("the active span", () => {
  it("is there for what its work begins and nowhere else; a child's error is its kind only", async () => {
    const collector = await collecting();
    const tracer = createTracer({
      settings: { otlpUrl: collector.url, headers: {}, sampleRatio: 1, serviceName: "baton" },
      version: "1",
      onLost: () => {},
    });
    const span = tracer.start("outer", { kind: "internal" });
    const failing = runInSpan(span, () =>
      inChildSpan("inner", { kind: "client" }, async (inner) => {
        await Promise.resolve();
        expect(activeSpan()).toBe(inner);
        throw Object.assign(new Error("with a secret"), { code: "ECONNRESET" });
      }),
    );
    await expect(failing).rejects.toThrow("with a secret");
    expect(activeSpan()).toBeUndefined();
    span.end();
    await tracer.stop(2000);
    const inner = child(collector.spans, span.context.traceparent.slice(36, 52), "inner");
    expect(inner).toMatchObject({ status: 2, attributes: { "error.type": "ECONNRESET" } });
    expect(collector.text()).not.toContain("with a secret");
  });
});
