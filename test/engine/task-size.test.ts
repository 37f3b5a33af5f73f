/** A task has a size that every client can take, however long it is worked on. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { credentials, Client as GrpcClient, Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { GetTaskRequestSchema, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { fillableBytes, TASK_BYTES } from "../../src/domain/task-size.ts";
import { startTestGateway, type TestGateway, UNLIMITED } from "../gateway.ts";
import { RpcClient } from "../openwop/rpc.ts";
import { startPair } from "../openwop/setup.ts";
import { agentSays, type Sender, says, senderOf, stateName, textOf, workerOf } from "./client.ts";

const SMALL = 200_000;
const FILLABLE = fillableBytes(SMALL);

function artifactOf(artifactId: string, bytes: number) {
  return { artifactId, parts: [{ content: { case: "text", value: "x".repeat(bytes) } as const }] };
}

/** Field and limit of the refusal; fails where the call succeeds or fails otherwise. */
async function tooLarge(call: Promise<unknown>): Promise<{ readonly field: string; readonly max: number }> {
  const error = await call.then(
    () => expect.fail("it was taken"),
    (thrown: unknown) => ConnectError.from(thrown),
  );
  const [info] = error.findDetails(ErrorInfoSchema);
  expect([error.code, info?.reason, info?.domain]).toEqual([
    Code.ResourceExhausted,
    "TASK_TOO_LARGE",
    "baton",
  ]);
  const field = error.findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field ?? "";
  return { field, max: Number(info?.metadata.maxBytes) };
}

describe("limits.taskBytes", () => {
  let gateway: TestGateway;
  let sender: Sender;
  let worker: ReturnType<typeof workerOf>;

  beforeAll(async () => {
    gateway = await startTestGateway({
      limits: { ...UNLIMITED, taskBytes: SMALL, bodyBytes: 1_000_000 },
    });
    sender = senderOf(gateway.url, await gateway.vend());
    worker = workerOf(gateway.url, await gateway.vendWorker());
  });
  afterAll(() => gateway.stop());

  async function claimed(): Promise<string> {
    const { id } = await sender.send("fill it");
    await worker.claimById({ id });
    return id;
  }

  /** Appends to one artifact until there is no room for another thousand bytes; answers the task. */
  async function filled(id: string): Promise<Task> {
    for (let append = false; ; append = true) {
      const step = { id, artifact: artifactOf("log", 10_000), append };
      if (
        await worker.addArtifact(step).then(
          () => false,
          () => true,
        )
      )
        break;
    }
    return sender.get(id);
  }

  it("SB-53 an artifact that grows by chunks stops at the limit, and the task stays as it was", async () => {
    const id = await claimed();
    const before = await filled(id);
    const size = toBinary(TaskSchema, before).length;
    expect(size).toBeLessThanOrEqual(FILLABLE);
    expect(size).toBeGreaterThan(FILLABLE - 11_000);
    const chunk = { id, artifact: artifactOf("log", 10_000), append: true };
    expect(await tooLarge(worker.addArtifact(chunk))).toEqual({ field: "artifact", max: FILLABLE });
    expect(await tooLarge(worker.addArtifact({ id, artifact: artifactOf("new", 20_000) }))).toMatchObject({
      field: "artifact",
    });
    const text = "y".repeat(20_000);
    expect(await tooLarge(worker.updateStatus({ id, message: agentSays(text) }))).toMatchObject({
      field: "message",
    });
    expect(await tooLarge(worker.requireInput({ id, message: agentSays(text) }))).toMatchObject({
      field: "message",
    });
    expect(await tooLarge(worker.complete({ id, artifacts: [artifactOf("result", 20_000)] }))).toMatchObject({
      field: "artifacts",
    });
    expect(await tooLarge(worker.complete({ id, message: agentSays(text) }))).toMatchObject({
      field: "message",
    });
    expect(await sender.get(id)).toEqual(before);
    // What fits is still taken, and so is what makes room.
    await worker.updateStatus({ id, message: agentSays("nearly full") });
    await worker.addArtifact({ id, artifact: artifactOf("log", 10) });
    await worker.complete({ id, artifacts: [artifactOf("result", 20_000)] });
    expect(await sender.state(id)).toBe("COMPLETED");
  });

  it("SB-53 an artifact counts at least 256 bytes, so that a task cannot be of very many empty ones", async () => {
    const id = await claimed();
    const empty = (n: number) => worker.addArtifact({ id, artifact: artifactOf(`a${n}`, 0) });
    let taken = 0;
    let refusal: Promise<unknown> | undefined;
    while (refusal === undefined && taken < 2000) {
      const call = empty(taken);
      const took = await call.then(
        () => true,
        () => false,
      );
      if (took) taken++;
      else refusal = call;
    }
    expect(taken).toBeGreaterThan(FILLABLE / 300);
    expect(taken).toBeLessThanOrEqual(FILLABLE / 256);
    expect(await tooLarge(refusal ?? Promise.resolve())).toEqual({ field: "artifact", max: FILLABLE });
    // One that is there already costs nothing more, and the task can be ended.
    await empty(0);
    await worker.fail({ id, permanent: true, message: agentSays("so many") });
    expect((await sender.get(id)).artifacts).toHaveLength(taken);
  });

  it("SB-53 status messages become history, and count there", async () => {
    const id = await claimed();
    let taken = 0;
    while (
      await worker.updateStatus({ id, message: agentSays("z".repeat(10_000)) }).then(
        () => true,
        () => false,
      )
    )
      taken++;
    expect(taken).toBe(Math.floor((FILLABLE - 200) / 10_100));
    expect(toBinary(TaskSchema, await sender.get(id)).length).toBeLessThanOrEqual(FILLABLE);
  });

  it.each(["fail", "reject"] as const)(
    "SB-53 a full task can %s, with words that the reserve has room for",
    async (verb) => {
      const id = await claimed();
      await filled(id);
      const end = (bytes: number) =>
        verb === "fail"
          ? worker.fail({ id, permanent: true, message: agentSays("f".repeat(bytes)) })
          : worker.reject({ id, message: agentSays("f".repeat(bytes)) });
      expect(await tooLarge(end(80_000))).toMatchObject({ field: "message" });
      await end(30_000);
      const ended = await sender.get(id);
      expect(stateName(ended.status?.state)).toBe(verb === "fail" ? "FAILED" : "REJECTED");
      expect(textOf(ended.status?.message)).toHaveLength(30_000);
      expect(toBinary(TaskSchema, ended).length).toBeLessThanOrEqual(SMALL);
    },
  );

  it("SB-53, A2A-35 a caller's message beyond the limit is refused, as a new task and as a reply; cancel is not", async () => {
    expect(await tooLarge(sender.send("w".repeat(FILLABLE + 1)))).toEqual({
      field: "message",
      max: FILLABLE,
    });
    const id = await claimed();
    const before = await filled(id);
    const reply = (bytes: number) =>
      sender.client.sendMessage({
        message: says("w".repeat(bytes), { taskId: id }),
        configuration: { returnImmediately: true },
      });
    expect(await tooLarge(reply(20_000))).toMatchObject({ field: "message" });
    expect(await sender.get(id)).toEqual(before);
    await reply(100);
    await sender.client.cancelTask({ id });
    expect(await sender.state(id)).toBe("CANCELED");
  });

  it("A2A-134 on JSON-RPC it is an error of the call, with its field, and no refusal of the transport", async () => {
    const rpc = new RpcClient(gateway.url, await gateway.vend());
    const parts = [{ text: "w".repeat(FILLABLE + 1) }];
    const answer = await rpc.call("SendMessage", { message: { messageId: "m", role: "ROLE_USER", parts } });
    expect(answer.error).toMatchObject({ code: -32004 });
    expect(JSON.stringify(answer.error.data)).toMatch(/TASK_TOO_LARGE.*"message"/s);
  });
});

describe("by default", () => {
  it("SB-53 a gRPC client that knows no limits but its own can read a task that is full", async () => {
    const gateway = await startTestGateway();
    const token = await gateway.vend();
    const worker = workerOf(gateway.url, await gateway.vendWorker());
    const { id } = await senderOf(gateway.url, token).send("fill it");
    await worker.claimById({ id });
    let chunks = 0;
    for (const bytes of [200_000, 1000]) {
      const step = (append: boolean) =>
        worker.addArtifact({ id, artifact: artifactOf("log", bytes), append });
      while (
        await step(chunks > 0).then(
          () => true,
          () => false,
        )
      )
        chunks++;
    }
    await worker.fail({ id, permanent: true, message: agentSays("f".repeat(60_000)) });
    const client = new GrpcClient(new URL(gateway.url).host, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${token}`);
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      client.makeUnaryRequest(
        "/lf.a2a.v1.A2AService/GetTask",
        (request: Uint8Array) => Buffer.from(request),
        (answer: Buffer) => answer,
        toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id })),
        metadata,
        (error, answer) => (error === null && answer !== undefined ? resolve(answer) : reject(error)),
      );
    });
    client.close();
    expect(bytes.length).toBeGreaterThan(TASK_BYTES - 10_000);
    expect(bytes.length).toBeLessThan(4 * 1024 * 1024);
    expect(stateName(fromBinary(TaskSchema, bytes).status?.state)).toBe("FAILED");
    await gateway.stop();
  });
});

describe("a run whose results are too large", () => {
  it("OW-18, SB-53 ends all the same: what does not fit is left out and says so, and later messages are refused", async () => {
    const pair = await startPair(2, {
      limits: { ...UNLIMITED, taskBytes: SMALL, bodyBytes: 1_000_000 },
    });
    const echo = await pair.client("echo");
    const task = await echo.start("e".repeat(100_000));
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    const texts = task.artifacts.map(({ parts }: { parts: { text: string }[] }) => parts[0]?.text);
    expect(texts).toHaveLength(2);
    for (const text of texts) expect(text).toMatch(/^Left out: .* larger than 134464 bytes/);
    expect(JSON.stringify(task).length).toBeLessThan(SMALL);
    // A message that fills the task is refused before the host hears of it.
    const clarify = await pair.client("clarify");
    const asked = await clarify.start("c".repeat(100_000));
    expect(asked.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const before = pair.host.state.engine.runs.get(asked.id)?.events.length;
    const parts = [{ text: "r".repeat(60_000) }];
    const message = { messageId: "late", taskId: asked.id, role: "ROLE_USER", parts };
    const { error } = await clarify.call("SendMessage", { message });
    expect(JSON.stringify(error)).toContain("TASK_TOO_LARGE");
    expect(pair.host.state.engine.runs.get(asked.id)?.events.length).toBe(before);
    await pair.stop();
  });
});
