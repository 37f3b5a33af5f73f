/** What protobuf can say and JSON cannot must not get in, from clients or workers, or nobody could read the task again. */
import { randomUUID } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Client, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AService as V03 } from "../../gen/a2a/v1/a2a_pb.js";
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { A2AService, Role, SendMessageRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { MAX_VALUE_DEPTH } from "../../src/domain/readable-fields.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { Peer } from "../scenarios/actors.ts";
import { DRIVERS } from "./drivers.ts";
import { connect } from "./rig.ts";

let gateway: TestGateway;
let token: string;
let client: Client<typeof A2AService>;
let legacy: Client<typeof V03>;
let worker: Client<typeof WorkerService>;

beforeAll(async () => {
  gateway = await startTestGateway();
  token = await gateway.vend();
  client = createClient(A2AService, transport(token));
  legacy = createClient(V03, transport(token));
  worker = createClient(WorkerService, transport(await gateway.vendWorker()));
});
afterAll(() => gateway?.stop());

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

const number = (value: number): Value => create(ValueSchema, { kind: { case: "numberValue", value } });

function nested(depth: number): Value {
  let value = number(1);
  for (let level = 0; level < depth; level += 1) {
    value = create(ValueSchema, { kind: { case: "listValue", value: { values: [value] } } });
  }
  return value;
}

async function fieldsOf(call: Promise<unknown>): Promise<string[]> {
  const error = await call.then(
    () => new Error("the call went through"),
    (thrown: unknown) => ConnectError.from(thrown),
  );
  if (!(error instanceof ConnectError)) throw error;
  return error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations.map(({ field }) => field));
}

const data = (value: Value) => ({ content: { case: "data" as const, value } });
const user = (value: Value, metadata?: Record<string, number>) => ({
  message: {
    messageId: randomUUID(),
    role: Role.USER,
    parts: [{ content: { case: "text" as const, value: "see" } }, data(value)],
    ...(metadata === undefined ? {} : { metadata }),
  },
  configuration: { returnImmediately: true },
});

const UNREADABLE: readonly (readonly [string, Value, string])[] = [
  ["a number that is not finite", number(Number.POSITIVE_INFINITY), ""],
  ["not a number", number(Number.NaN), ""],
  [
    "one of these inside a list",
    create(ValueSchema, { kind: { case: "listValue", value: { values: [number(Number.NaN)] } } }),
    "[0]",
  ],
  ["a value without a kind", create(ValueSchema), ""],
  ["too much depth", nested(MAX_VALUE_DEPTH + 1), "[0]".repeat(MAX_VALUE_DEPTH)],
];

describe.each(UNREADABLE.map((row) => [row[0], row] as const))("%s", (_, row) => {
  const [, value, suffix] = row;

  it("A2A-2 is refused in a message of a client, by name", async () => {
    expect(await fieldsOf(client.sendMessage(user(value)))).toEqual([`message.parts[1].data${suffix}`]);
    expect((await client.listTasks({})).totalSize).toBe(0);
  });

  it("A2A-176 is refused in 0.3 too", async () => {
    const content = [{ part: { case: "data" as const, value: { data: { n: Number.NaN } } } }];
    const request = { messageId: randomUUID(), role: 1, content };
    expect(await fieldsOf(legacy.sendMessage({ request }))).toEqual(["message.content[0].data.data.n"]);
  });

  it("A2A-160 is refused in what a worker sends, and its task stays readable", async () => {
    const sender = await gateway.vend();
    const peer = createClient(A2AService, transport(sender));
    const sent = await peer.sendMessage(user(number(1)));
    if (sent.payload.case !== "task") throw new Error("no task");
    const { id } = sent.payload.value;
    await worker.claimById({ id, claimant: "w" });
    const artifact = { artifactId: "a", parts: [data(value)] };
    const message = { messageId: "m", role: Role.AGENT, parts: [data(value)] };
    expect(await fieldsOf(worker.addArtifact({ id, artifact }))).toEqual([`artifact.parts[0].data${suffix}`]);
    expect(await fieldsOf(worker.updateStatus({ id, message }))).toEqual([`message.parts[0].data${suffix}`]);
    expect(await fieldsOf(worker.requireInput({ id, message }))).toEqual([`message.parts[0].data${suffix}`]);
    expect(await fieldsOf(worker.complete({ id, artifacts: [artifact] }))).toEqual([
      `artifacts[0].parts[0].data${suffix}`,
    ]);
    for (const kind of DRIVERS) {
      const driver = await connect(kind, gateway);
      const reader = new Peer(driver, { token: sender });
      expect((await reader.get(id)).id).toBe(id);
      await driver.close();
    }
  });
});

it("A2A-2 metadata is looked into as well", async () => {
  expect(await fieldsOf(client.sendMessage(user(number(1), { "x.y": Number.NaN })))).toEqual([
    "message.metadata.x.y",
  ]);
  expect(await fieldsOf(client.sendMessage({ ...user(number(1)), metadata: { z: Number.NaN } }))).toEqual([
    "metadata.z",
  ]);
});

it("A2A-116 a time that cannot be written is refused", async () => {
  for (const after of [
    { seconds: 253_402_300_800n },
    { seconds: -62_135_596_801n },
    { seconds: 0n, nanos: -1 },
  ]) {
    expect(await fieldsOf(client.listTasks({ statusTimestampAfter: after }))).toEqual([
      "statusTimestampAfter",
    ]);
  }
});

it("A2A-1 the deepest value that is accepted comes back on every binding as it went in", async () => {
  const value = nested(MAX_VALUE_DEPTH);
  const sent = await client.sendMessage(user(value));
  if (sent.payload.case !== "task") throw new Error("no task");
  const bytes = Buffer.from(toBinary(ValueSchema, value));
  for (const kind of DRIVERS) {
    const driver = await connect(kind, gateway);
    const task = await new Peer(driver, { token }).get(sent.payload.value.id);
    const content = task.history[0]?.parts[1]?.content;
    const seen = content?.case === "data" ? Buffer.from(toBinary(ValueSchema, content.value)) : undefined;
    expect(seen?.equals(bytes), kind.name).toBe(true);
    await driver.close();
  }
});

it("A2A-5, A2A-122 unknown fields of a binary request are ignored, and do not come back", async () => {
  // Field 4000, a string, in the message and in the request.
  const marker = Buffer.from("unknown-marker");
  const tag = Buffer.from([0x82, 0xfa, 0x01, marker.length]);
  const unknown = { no: 4000, wireType: 2, data: Buffer.concat([Buffer.from([marker.length]), marker]) };
  const request = create(SendMessageRequestSchema, user(number(1)));
  if (request.message === undefined) throw new Error("no message");
  request.message.$unknown = [unknown];
  request.$unknown = [unknown];
  expect(
    Buffer.from(toBinary(SendMessageRequestSchema, request)).includes(Buffer.concat([tag, marker])),
  ).toBe(true);
  const sent = await client.sendMessage(request);
  if (sent.payload.case !== "task") throw new Error("no task");
  const read = await client.getTask({ id: sent.payload.value.id });
  expect(read.history[0]?.$unknown ?? []).toEqual([]);
});
