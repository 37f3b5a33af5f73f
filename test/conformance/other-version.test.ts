/** Stubs of one version against the service of the other: told clearly, never taken for something else (A8). */
import { create, type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, it } from "vitest";
import { A2AService as V03 } from "../../gen/a2a/v1/a2a_pb.js";
import { Role, A2AService as V1 } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { RawGrpc } from "../fuzz/grpc-client.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";

let gateway: TestGateway;
let client: RawGrpc;
let headers: Record<string, string>;

beforeAll(async () => {
  gateway = await startTestGateway();
  client = new RawGrpc(gateway.url);
  headers = { authorization: `Bearer ${await gateway.vend()}`, "content-type": "application/grpc" };
});
afterAll(async () => {
  client?.close();
  await gateway?.stop();
});

function framed<D extends DescMessage>(desc: D, message: MessageShape<D>): Buffer {
  const bytes = toBinary(desc, message);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

const SEND_1 = framed(
  V1.method.sendMessage.input,
  create(V1.method.sendMessage.input, {
    message: { messageId: "m", role: Role.USER, parts: [{ content: { case: "text", value: "x" } }] },
    configuration: { returnImmediately: true },
  }),
);
const SEND_03 = framed(
  V03.method.sendMessage.input,
  create(V03.method.sendMessage.input, {
    request: { messageId: "m", role: 1, content: [{ part: { case: "text", value: "x" } }] },
  }),
);
const PATH_1 = `/${V1.typeName}/SendMessage`;
const PATH_03 = `/${V03.typeName}/SendMessage`;

it("A8 the bytes of 0.3 at the path of 1.0 are an invalid argument, and make no task", async () => {
  const answer = await client.call(PATH_1, headers, SEND_03);
  expect(answer.status).toBe(3);
});

it("A8, A2A-147 a path of one version with the number of the other is a method that is not there", async () => {
  expect((await client.call(PATH_1, { ...headers, "a2a-version": "0.3" }, SEND_1)).status).toBe(12);
  expect((await client.call(PATH_03, { ...headers, "a2a-version": "1.0" }, SEND_03)).status).toBe(12);
});

it("A2A-147, A2A-151 each is served under its own number, and without one", async () => {
  for (const version of [{}, { "a2a-version": "1.0" }, { "a2a-version": "1.0.1" }]) {
    expect((await client.call(PATH_1, { ...headers, ...version }, SEND_1)).status).toBe(0);
  }
  const get = framed(V03.method.getTask.input, create(V03.method.getTask.input, { name: "tasks/never-was" }));
  for (const version of [{}, { "a2a-version": "0.3" }]) {
    expect((await client.call(`/${V03.typeName}/GetTask`, { ...headers, ...version }, get)).status).toBe(5);
  }
  expect((await client.call(PATH_1, { ...headers, "a2a-version": "99.0" }, SEND_1)).status).toBe(9);
});
