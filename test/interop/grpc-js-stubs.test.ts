/** A Node program that has our .proto files and `@grpc/grpc-js`, and nothing of Baton. */
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import {
  type ClientReadableStream,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceClientConstructor,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";

const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const loadOptions = {
  includeDirs: [root("proto"), root("node_modules/google-proto-files")],
  enums: String,
  defaults: false,
  oneofs: true,
};

// proto-loader makes clients without types: fields have the names of the .proto in camel case.
interface TaskJson {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string };
  readonly artifacts?: readonly { readonly artifactId: string }[];
}
type Call = (
  request: object,
  metadata: Metadata,
  callback: (error: ServiceError | null, answer: unknown) => void,
) => void;
type StreamCall = (request: object, metadata: Metadata) => ClientReadableStream<Record<string, unknown>>;
type Stub = InstanceType<ServiceClientConstructor>;

let gateway: TestGateway;
let agent: Stub;
let work: Stub;
let client: Metadata;
let worker: Metadata;

function stub(file: string, ...path: readonly string[]): Stub {
  let place: unknown = loadPackageDefinition(loadSync(file, loadOptions));
  for (const step of path) place = (place as Record<string, unknown>)[step];
  const Service = place as ServiceClientConstructor;
  return new Service(new URL(gateway.url).host, credentials.createInsecure());
}

function bearer(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  metadata.set("a2a-version", "1.0");
  return metadata;
}

function call<T>(target: Stub, method: string, request: object, metadata: Metadata): Promise<T> {
  return new Promise((resolve, reject) => {
    (target[method] as Call).call(target, request, metadata, (error, answer) => {
      if (error === null) resolve(answer as T);
      else reject(error);
    });
  });
}

const message = (text: string) => ({ messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] });

async function start(text: string): Promise<TaskJson> {
  const request = { message: message(text), configuration: { returnImmediately: true } };
  return (await call<{ task: TaskJson }>(agent, "SendMessage", request, client)).task;
}

async function finish(id: string): Promise<void> {
  await call(work, "ClaimById", { id }, worker);
  const artifacts = [{ artifactId: "out", parts: [{ text: "done" }] }];
  await call(work, "Complete", { id, artifacts }, worker);
}

describe.each([
  ["the lean path", true],
  ["connect-es", false],
])("gRPC by %s", (_path, leanGrpc) => {
  beforeAll(async () => {
    gateway = await startTestGateway({ listen: { host: "127.0.0.1", port: 0, leanGrpc } });
    agent = stub("lf/a2a/v1/a2a.proto", "lf", "a2a", "v1", "A2AService");
    work = stub("baton/worker/v1/worker.proto", "baton", "worker", "v1", "WorkerService");
    client = bearer(await gateway.vend());
    worker = bearer(await gateway.vendWorker());
  });

  afterAll(async () => {
    agent?.close();
    work?.close();
    await gateway?.stop();
  });

  it("A2A-146 stubs from our proto send, and a worker with stubs of its own completes", async () => {
    const task = await start("from plain stubs");
    expect(task.status.state).toBe("TASK_STATE_SUBMITTED");
    await finish(task.id);
    const read = await call<TaskJson>(agent, "GetTask", { id: task.id }, client);
    expect(read.status.state).toBe("TASK_STATE_COMPLETED");
    expect(read.artifacts?.map(({ artifactId }) => artifactId)).toEqual(["out"]);
  });

  it("A2A-82 A2A-83 a stream brings the task and its events and ends with status OK", async () => {
    const stream = (agent.SendStreamingMessage as StreamCall).call(
      agent,
      { message: message("stream") },
      client,
    );
    const ended = new Promise<number>((resolve) => stream.on("status", ({ code }) => resolve(code)));
    const seen: string[] = [];
    for await (const event of stream as AsyncIterable<{ payload: string; task?: TaskJson }>) {
      seen.push(event.payload);
      if (event.task !== undefined) await finish(event.task.id);
    }
    expect(seen).toEqual(["task", "statusUpdate", "artifactUpdate", "statusUpdate"]);
    expect(await ended).toBe(status.OK);
  });

  it("A2A-59 A2A-62 listing answers totals and a token that brings the next page", async () => {
    const own = bearer(await gateway.vend());
    for (const text of ["one", "two", "three"]) {
      const request = { message: message(text), configuration: { returnImmediately: true } };
      await call(agent, "SendMessage", request, own);
    }
    type Page = { tasks: TaskJson[]; nextPageToken: string; totalSize: number };
    const first = await call<Page>(agent, "ListTasks", { pageSize: 2 }, own);
    expect([first.tasks.length, first.totalSize]).toEqual([2, 3]);
    const second = await call<Page>(agent, "ListTasks", { pageSize: 2, pageToken: first.nextPageToken }, own);
    expect(second.tasks).toHaveLength(1);
  });

  it("A2A-74 cancel answers the canceled task", async () => {
    const { id } = await start("cancel me");
    const task = await call<TaskJson>(agent, "CancelTask", { id }, client);
    expect(task.status.state).toBe("TASK_STATE_CANCELED");
  });

  it("A2A-148 FR-59 an error has its code, a readable text and its details in the trailers", async () => {
    const failure = await call(agent, "GetTask", { id: " " }, client).then(
      () => undefined,
      (error: ServiceError) => error,
    );
    expect(failure?.code).toBe(status.INVALID_ARGUMENT);
    expect(failure?.details).toBe("id: must not be blank");
    expect(failure?.metadata.get("grpc-status-details-bin")).toHaveLength(1);
    await expect(call(agent, "GetTask", { id: "never-was" }, client)).rejects.toMatchObject({
      code: status.NOT_FOUND,
    });
  });
});
