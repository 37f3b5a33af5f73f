import { randomUUID } from "node:crypto";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import { A2AService, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type TodoContext, Worker } from "../../src/worker/index.ts";
import { type PushGateway, startPushGateway } from "../push/gateway.ts";
import { type PushReceiver, startPushReceiver } from "../push/receiver.ts";
import { applicationTracing, type ClientSpan } from "./client-tracing.ts";
import { type Collector, type ReceivedSpan, startCollector } from "./collector.ts";
import { child, expectTree } from "./trace-tree.ts";

const SECRET_TEXT = "a private matter";
const PUSH_TOKEN = "receiver-token-1234567890";

let collector: Collector;
let gateway: PushGateway;
let hook: PushReceiver;
let client: ReturnType<typeof applicationTracing>;
let credential: string;
let workerCredential: string;
const workers: Worker[] = [];

beforeAll(async () => {
  collector = await startCollector();
  gateway = await startPushGateway({}, { telemetry: { traces: { otlpUrl: collector.url } } });
  hook = await startPushReceiver();
  client = applicationTracing(collector.url, "client");
  credential = await gateway.vend({ push: true });
  workerCredential = await gateway.vendWorker();
});

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  hook.hits.length = 0;
});

afterAll(async () => {
  await client?.stop();
  await gateway?.stop();
  await hook?.close();
  await collector?.close();
});

function startWorker(handler: (context: TodoContext) => Promise<string>): void {
  const worker = new Worker({ url: gateway.url, credential: workerCredential, handler, stopGrace: 1 });
  workers.push(worker);
  worker.start();
}

const config = () => ({
  url: `${hook.url}?key=${PUSH_TOKEN}`,
  authentication: { scheme: "Bearer", credentials: PUSH_TOKEN },
});

/** Sends one message over a transport, with the trace context of a client's span. */
type Send = (headers: Record<string, string>) => Promise<void>;

const overJsonRpc: Send = async (headers) => {
  const response = await fetch(`${gateway.url}/`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "a2a-version": "1.0",
      authorization: `Bearer ${credential}`,
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: {
        message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: SECRET_TEXT }] },
        configuration: { returnImmediately: true, taskPushNotificationConfig: config() },
      },
    }),
  });
  expect((await response.json()) as object).toHaveProperty("result.task.id");
};

const overGrpc: Send = async (headers) => {
  await createClient(A2AService, createGrpcTransport({ baseUrl: gateway.url })).sendMessage(
    {
      message: {
        messageId: randomUUID(),
        role: Role.USER,
        parts: [{ content: { case: "text", value: SECRET_TEXT } }],
      },
      configuration: { returnImmediately: true, taskPushNotificationConfig: config() },
    },
    { headers: { authorization: `Bearer ${credential}`, ...headers } },
  );
};

const overRest: Send = async (headers) => {
  const response = await fetch(`${gateway.url}/message:send`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "a2a-version": "1.0",
      authorization: `Bearer ${credential}`,
      ...headers,
    },
    body: JSON.stringify({
      message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: SECRET_TEXT }] },
      configuration: { returnImmediately: true, taskPushNotificationConfig: config() },
    }),
  });
  expect(response.status).toBe(200);
};

const ofTrace = (traceId: string) => collector.spans.filter((span) => span.traceId === traceId);

const SEND = "lf.a2a.v1.A2AService/SendMessage";
const worker = (method: string) => `baton.worker.v1.WorkerService/${method}`;

/** Waits for all spans of a message: submitted, working, progress, result and completed are five pushes. */
async function wholeTrace(span: ClientSpan): Promise<ReceivedSpan[]> {
  await hook.until(5);
  span.end();
  await collector.until(() => {
    const spans = ofTrace(span.traceId);
    return (
      spans.filter(({ name }) => name === "POST push").length === 5 &&
      ["client", "baton"].every((service) => spans.some((one) => one.service === service)) &&
      spans.some(({ name }) => name === worker("Complete"))
    );
  });
  return ofTrace(span.traceId);
}

const TRANSPORTS: readonly (readonly [string, Send, object])[] = [
  ["gRPC", overGrpc, { "rpc.system.name": "grpc", "rpc.grpc.status_code": 0, "baton.transport": "grpc" }],
  ["JSON-RPC", overJsonRpc, { "rpc.system.name": "jsonrpc", "baton.transport": "jsonrpc" }],
  ["HTTP+JSON", overRest, { "http.route": "/message:send", "baton.transport": "rest" }],
];

describe("a trace of one message across client, gateway, worker and push", () => {
  it.each(TRANSPORTS)("is one connected tree over %s", async (_name, send, attributes) => {
    let given: Readonly<Record<string, string>> = {};
    startWorker(async (context) => {
      given = context.traceHeaders;
      await context.progress("half way");
      return "done";
    });
    const root = client.start("ask");
    await send(root.headers);
    const spans = await wholeTrace(root);
    expectTree(spans, root.spanId);

    const call = child(spans, root.spanId, SEND);
    expect(call).toMatchObject({ service: "baton", kind: 2, status: 0 });
    expect(call.attributes).toMatchObject({
      "rpc.method": SEND,
      "rpc.service": "lf.a2a.v1.A2AService",
      "rpc.status_code": "OK",
      "baton.agent": "default",
      ...attributes,
    });
    const publish = child(spans, call, "send default");
    expect(publish.kind).toBe(4);
    expect(publish.attributes).toMatchObject({
      "messaging.system": "baton",
      "messaging.operation.type": "send",
      "messaging.destination.name": "default",
      "messaging.message.id": expect.stringMatching(/^td_/),
    });
    const create = child(spans, publish, "EVALSHA create");
    expect(create.kind).toBe(3);
    expect(create.attributes).toMatchObject({
      "db.system.name": "redis",
      "db.stored_procedure.name": "create",
    });

    const receive = child(spans, publish, "receive default");
    expect(receive.kind).toBe(5);
    expect(receive.attributes["messaging.operation.type"]).toBe("receive");
    expect(given.traceparent).toBe(`00-${receive.traceId}-${receive.spanId}-01`);
    // The claim itself waited for any work: it is a trace of its own, and linked.
    const claim = await collector.until((all) =>
      all.some(({ traceId, spanId }) => receive.links.includes(`${traceId}-${spanId}`)),
    );
    const linked = claim.find(({ traceId, spanId }) => receive.links.includes(`${traceId}-${spanId}`));
    expect(linked).toMatchObject({ name: worker("Claim"), kind: 2, parentId: "" });

    // Without OpenTelemetry in the worker's program its calls go on from the receipt.
    const progress = child(spans, receive, worker("UpdateStatus"));
    const complete = child(spans, receive, worker("Complete"));
    const told = child(spans, progress, "EVALSHA progress").spanId;
    const finished = child(spans, complete, "EVALSHA finish").spanId;
    // A claim is committed by the worker's own trace: its push hangs below the message, with the claim as a link.
    const parents = [create.spanId, publish.spanId, told, finished, finished];
    const posts = spans.filter(({ name }) => name === "POST push");
    const bySeq = posts.toSorted((a, b) => seqOf(a) - seqOf(b));
    expect(bySeq.map(({ parentId }) => parentId)).toEqual(parents);
    expect(bySeq.map(({ links }) => links.length)).toEqual([0, 1, 0, 0, 0]);
    for (const post of posts) {
      expect(post.kind).toBe(3);
      expect(post.attributes).toMatchObject({
        "http.request.method": "POST",
        "http.response.status_code": 204,
        "server.address": "127.0.0.1",
        "server.port": hook.port,
      });
    }
    // The receiver was told the very span of its attempt.
    const hits = hook.hits.toSorted((a, b) => a.seq - b.seq);
    expect(hits.map(({ headers }) => headers.traceparent)).toEqual(
      bySeq.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`),
    );
  });

  it("holds no credential, no content and no address of a receiver (SB-56)", () => {
    const text = collector.text();
    expect(text).toContain("POST push");
    for (const secret of [SECRET_TEXT, PUSH_TOKEN, credential, workerCredential, "/hook", "half way"]) {
      expect(text).not.toContain(secret);
    }
  });

  it("goes through a worker that has OpenTelemetry: its handler's span is between", async () => {
    const application = applicationTracing(collector.url, "worker");
    application.register();
    try {
      startWorker(async (context) => {
        await context.progress("half way");
        return "done";
      });
      const root = client.start("ask");
      await overGrpc(root.headers);
      await wholeTrace(root);
      await collector.until(() => ofTrace(root.traceId).some(({ service }) => service === "worker"));
      const spans = ofTrace(root.traceId);
      expectTree(spans, root.spanId);
      const publish = child(spans, child(spans, root.spanId, SEND), "send default");
      const process = child(spans, child(spans, publish, "receive default"), "process default");
      expect(process).toMatchObject({ service: "worker", kind: 5 });
      expect(process.attributes["baton.outcome"]).toBe("completed");
      child(spans, process, worker("UpdateStatus"));
      child(spans, process, worker("Complete"));
    } finally {
      await application.stop();
    }
  });

  it("keeps tracestate from the client to the receiver", async () => {
    const root = client.start("ask");
    let given: Readonly<Record<string, string>> = {};
    startWorker(async (context) => {
      given = context.traceHeaders;
      await context.progress("half way");
      return "done";
    });
    await overJsonRpc({ ...root.headers, tracestate: "vendor=a1, other=b2" });
    const spans = await wholeTrace(root);
    expect(given.tracestate).toBe("vendor=a1,other=b2");
    expect(child(spans, root.spanId, SEND).tracestate).toBe("vendor=a1,other=b2");
    expect(hook.hits.map(({ headers }) => headers.tracestate)).toEqual(Array(5).fill("vendor=a1,other=b2"));
  });
});

function seqOf(post: ReceivedSpan): number {
  return Number(String(post.attributes["messaging.message.id"]).split("/").at(-1));
}

describe("what a caller says of its trace", () => {
  const trace = () => randomUUID().replaceAll("-", "");

  it("a parent that is not sampled makes no spans, and everybody after it is told so", async () => {
    const traceId = trace();
    const handled = Promise.withResolvers<TodoContext["traceHeaders"]>();
    startWorker(async (context) => {
      handled.resolve(context.traceHeaders);
      await context.progress("half way");
      return "done";
    });
    await overGrpc({ traceparent: `00-${traceId}-00f067aa0ba902b7-00` });
    const { traceparent } = await handled.promise;
    expect(traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    const hits = await hook.until(5);
    for (const { headers } of hits) {
      expect(headers.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    }
    // Something that comes later has come.
    const later = client.start("ask");
    await overGrpc(later.headers);
    await wholeTrace(later).catch(() => {});
    expect(ofTrace(later.traceId).length).toBeGreaterThan(5);
    expect(ofTrace(traceId)).toEqual([]);
  });

  it.each([
    `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
    `00-4bf92f3577b34da6a3ce929d0e0e4736-${"0".repeat(16)}-01`,
    "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
    "garbage",
  ])("what is no traceparent begins a new trace: %s", async (traceparent) => {
    const before = new Set(collector.spans);
    await overJsonRpc({ traceparent, tracestate: "vendor=a1" });
    const isNew = (span: ReceivedSpan) => !before.has(span) && span.name === SEND;
    await collector.until((spans) => spans.some(isNew));
    const call = collector.spans.find(isNew);
    expect(call?.parentId).toBe("");
    expect(call?.tracestate).toBe("");
    expect(call?.traceId).not.toBe("4bf92f3577b34da6a3ce929d0e0e4736");
  });

  it("errors that are the caller's are no errors of the gateway's span", async () => {
    const root = client.start("ask");
    const grpc = createClient(A2AService, createGrpcTransport({ baseUrl: gateway.url }));
    const options = { headers: { authorization: `Bearer ${credential}`, ...root.headers } };
    await grpc.getTask({ id: "none" }, options).catch(() => {});
    await collector.until(() => ofTrace(root.traceId).some(({ name }) => name.endsWith("/GetTask")));
    const call = child(ofTrace(root.traceId), root.spanId, "lf.a2a.v1.A2AService/GetTask");
    expect(call.status).toBe(0);
    expect(call.attributes).toMatchObject({ "rpc.status_code": "NOT_FOUND", "rpc.grpc.status_code": 5 });
  });

  it("a worker with plain stubs joins the trace by the headers of what it claimed", async () => {
    const root = client.start("ask");
    await overJsonRpc(root.headers);
    const stubs = createClient(WorkerService, createGrpcTransport({ baseUrl: gateway.url }));
    const authorization = `Bearer ${workerCredential}`;
    for (;;) {
      const { todo } = await stubs.claim({ queue: "default" }, { headers: { authorization } });
      if (todo === undefined) throw new Error("the todo is gone");
      const { traceparent } = todo;
      await stubs.complete({ id: todo.id }, { headers: { authorization, traceparent } });
      if (traceparent.includes(root.traceId)) break;
    }
    await collector.until(() => ofTrace(root.traceId).some(({ name }) => name === worker("Complete")));
    const spans = ofTrace(root.traceId);
    const publish = child(spans, child(spans, root.spanId, SEND), "send default");
    child(spans, child(spans, publish, "receive default"), worker("Complete"));
  });
});
