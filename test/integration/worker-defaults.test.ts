import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import { A2AService, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { startTestGateway, type TestGateway } from "../gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});

afterAll(() => gateway.stop());

function transport(credential: string) {
  return createGrpcTransport({
    baseUrl: gateway.url,
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${credential}`);
        return next(request);
      },
    ],
  });
}

describe("what a worker may leave out (worker.proto)", () => {
  it("A2A-47 ids and roles of messages, and ids of artifacts, are filled in", async () => {
    const client = createClient(A2AService, transport(await gateway.vend()));
    const worker = createClient(WorkerService, transport(await gateway.vendWorker()));
    const { payload } = await client.sendMessage({
      message: { messageId: "m1", role: Role.USER, parts: [{ content: { case: "text", value: "hi" } }] },
      configuration: { returnImmediately: true },
    });
    const id = payload.case === "task" ? payload.value.id : "";
    await worker.claim({});
    const parts = [{ content: { case: "text" as const, value: "done" } }];
    await worker.complete({ id, message: { parts }, artifacts: [{ parts }] });
    const task = await client.getTask({ id });
    expect(task.status?.message).toMatchObject({ role: Role.AGENT, taskId: id, contextId: task.contextId });
    expect(task.status?.message?.messageId).not.toBe("");
    expect(task.artifacts[0]?.artifactId).not.toBe("");
  });

  it("A2A-2 what is missing and cannot be filled in is named, and nothing is stored", async () => {
    const client = createClient(A2AService, transport(await gateway.vend()));
    const worker = createClient(WorkerService, transport(await gateway.vendWorker()));
    const { payload } = await client.sendMessage({
      message: { messageId: "m2", role: Role.USER, parts: [{ content: { case: "text", value: "hi" } }] },
      configuration: { returnImmediately: true },
    });
    const id = payload.case === "task" ? payload.value.id : "";
    await worker.claim({});
    await expect(worker.complete({ id, artifacts: [{ artifactId: "a" }] })).rejects.toThrow(
      "artifacts[0].parts",
    );
    await expect(worker.requireInput({ id })).rejects.toThrow("message");
    expect((await client.getTask({ id })).artifacts).toEqual([]);
  });
});
