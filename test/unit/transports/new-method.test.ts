import { create, type MessageShape } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Handlers } from "../../../src/service/call.ts";
import { Dispatcher } from "../../../src/service/dispatcher.ts";
import { createJsonRpcHandler } from "../../../src/transports/jsonrpc/handler.ts";
import { createRestHandler } from "../../../src/transports/rest/handler.ts";
import {
  FindSamplesResponseSchema,
  FixtureService,
  SampleSchema,
} from "../../proto-fixture/gen/fixture/v1/fixture_pb.js";
import { AUTH, DISPATCH, listen } from "./a2a-server.ts";
import { type Reply, readSse, send1 } from "./client.ts";

type Input<K extends keyof typeof FixtureService.method> = MessageShape<
  (typeof FixtureService.method)[K]["input"]
>;
let puts: Input<"putSample">[] = [];

const handlers: Handlers<typeof FixtureService> = {
  pauseTask: async ({ id, reason }) => create(SampleSchema, { name: id, note: reason }),
  async *watchSamples({ count }) {
    for (let i = 0; i < count; i += 1)
      yield { message: create(SampleSchema, { name: `n${i}` }), id: String(i) };
  },
  async putSample(request) {
    puts.push(request);
    return create(SampleSchema, request.sample);
  },
  findSamples: async (request) => create(FindSamplesResponseSchema, { request }),
};

let port = 0;
let close: () => Promise<void>;

beforeAll(async () => {
  const dispatcher = new Dispatcher(DISPATCH);
  dispatcher.register(FixtureService, handlers, { a2a: true });
  const options = { dispatcher, service: FixtureService, reserved: new Set<string>() };
  const served = await listen([createRestHandler(options), createJsonRpcHandler(options)]);
  port = served.port1;
  close = served.close;
});
afterAll(() => close());
beforeEach(() => {
  puts = [];
});

function call(method: string, path: string, json?: unknown): Promise<Reply> {
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  return send1(port, { method, path, headers: { ...AUTH, "content-type": "application/json" }, ...body });
}

function rpc(method: string, params: unknown): Promise<Reply> {
  return call("POST", "/", { jsonrpc: "2.0", id: 1, method, params });
}

it("a method that the proto adds is served by both transports without any code", async () => {
  const expected = { name: "T1", note: "lunch" };
  expect((await rpc("PauseTask", { id: "T1", reason: "lunch" })).json.result).toEqual(expected);
  expect((await call("POST", "/tasks/T1:pause", { reason: "lunch" })).json).toEqual(expected);
  expect((await call("POST", "/acme/tasks/T1:pause", { reason: "lunch" })).json).toEqual(expected);
});

it("its annotations are enforced without any code", async () => {
  expect((await rpc("PauseTask", {})).json.error.data[1].fieldViolations[0].field).toBe("id");
  expect((await call("POST", "/whatever/tasks/T1:pause", {})).status).toBe(404);
  expect((await call("GET", "/tasks/T1:pause")).headers.allow).toBe("POST, OPTIONS");
});

it("a stream that the proto adds is served by both, and by both verbs", async () => {
  const names = (answer: Reply): string[] =>
    readSse(answer.text).map(({ data }) => {
      const json = JSON.parse(data);
      return (json.result ?? json).name;
    });
  expect(names(await rpc("WatchSamples", { count: 2 }))).toEqual(["n0", "n1"]);
  expect(names(await call("GET", "/samples:watch?count=2"))).toEqual(["n0", "n1"]);
  expect(names(await call("POST", "/samples:watch", { count: 2 }))).toEqual(["n0", "n1"]);
  const empty = await call("GET", "/samples:watch");
  expect([empty.status, empty.headers["content-type"], empty.text]).toEqual([200, "text/event-stream", ""]);
});

it("a body can be one field, with a path into it and a query beside it", async () => {
  const answer = await call("PUT", "/samples/a%2Fb?dryRun=true", { note: "x" });
  expect(answer.json).toEqual({ name: "a/b", note: "x" });
  expect(puts[0]).toMatchObject({ dryRun: true });
  const conflict = await call("PUT", "/samples/a", { name: "b" });
  expect(conflict.json.error.details[1].fieldViolations[0].field).toBe("sample.name");
  const wrong = await call("PUT", "/samples/a", { flag: 1 });
  expect(wrong.json.error.details[1].fieldViolations[0].field).toBe("sample.flag");
  expect(puts).toHaveLength(1);
});

it("an additional binding may take several segments", async () => {
  expect((await call("PATCH", "/drawers/1/samples/2", { note: "x" })).status).toBe(200);
  expect(puts[0]).toMatchObject({ path: "drawers/1/samples/2", sample: { note: "x" } });
  expect((await call("PATCH", "/drawers/1/other/2", {})).status).toBe(404);
});

it("A2A-119 lists come by repetition or with commas, enums by name or number", async () => {
  const query =
    "shades=SHADE_RED,2&shades=SHADE_BLUE&tags=a&tags=b,c&above=9007199254740993&exact=false&weight=-1.5";
  const { request } = (await call("GET", `/find/a/b?${query}&shade=SHADE_BLUE&like.name=n&limit=0`)).json;
  expect(request).toEqual({
    rest: "a/b",
    shades: ["SHADE_RED", "SHADE_BLUE", "SHADE_BLUE"],
    tags: ["a", "b", "c"],
    above: "9007199254740993",
    exact: false,
    weight: -1.5,
    shade: "SHADE_BLUE",
    like: { name: "n" },
    limit: 0,
  });
});

it.each([
  ["shades[1]", "shades=SHADE_RED,GREEN"],
  ["like", "like=x"],
  ["like.flag", "like.flag=maybe"],
  ["like.byName", "like.byName=x"],
  ["above", "above=1.5"],
  ["weight", "weight=heavy"],
])("A2A-120 names %s for %s", async (field, query) => {
  const answer = await call("GET", `/find/x?${query}`);
  expect(answer.status).toBe(400);
  expect(answer.json.error.details[1].fieldViolations[0].field).toBe(field);
});

describe("G14 the cases of AIP-127", () => {
  const puts7 = [{ path: "drawers/1/samples/7", sample: { note: "n" } }];
  it.each([
    [
      "a variable of several segments, {path=drawers/*/samples/*}",
      "PATCH",
      "/drawers/1/samples/7",
      200,
      puts7,
    ],
    ["a segment that the pattern does not have", "PATCH", "/drawers/1/boxes/7", 404, []],
    [
      "an escaped slash inside a variable of one segment",
      "PUT",
      "/samples/a%2Fb",
      200,
      [{ sample: { name: "a/b" } }],
    ],
    ["a slash where a variable takes one segment", "PUT", "/samples/a/b", 404, []],
    ["an escape of UTF-8", "PUT", "/samples/%C3%A4%20%2B", 200, [{ sample: { name: "ä +" } }]],
    ["an escape that is none", "PUT", "/samples/%zz", 400, []],
    [
      "a colon that is no verb is part of the name",
      "PUT",
      "/samples/a:b",
      200,
      [{ sample: { name: "a:b" } }],
    ],
    ["an escaped colon is never a verb", "PUT", "/samples/a%3Apause", 200, [{ sample: { name: "a:pause" } }]],
    ["a repeated query field", "PUT", "/samples/a?dryRun=true", 200, [{ dryRun: true }]],
    ["a query field by its proto name", "PUT", "/samples/a?dry_run=true", 200, [{ dryRun: true }]],
  ])("%s", async (_, method, path, status, expected) => {
    expect((await call(method, path, { note: "n" })).status).toBe(status);
    expect(puts).toMatchObject(expected);
    expect(puts).toHaveLength(expected.length);
  });

  it("body *: a verb after an id whose colon is escaped, and nothing of it from the query", async () => {
    const answer = await call("POST", "/tasks/a%2Fb%3Ac:pause", { reason: "r" });
    expect(answer.json).toEqual({ name: "a/b:c", note: "r" });
  });

  it("64-bit numbers are text on both ways, and lose nothing", async () => {
    const { request } = (await call("GET", "/find/x?above=-9223372036854775808")).json;
    expect(request.above).toBe("-9223372036854775808");
    expect((await call("GET", "/find/x?above=9223372036854775808")).status).toBe(400);
  });

  it("an open end, {rest=**}, takes no segment and many", async () => {
    expect((await call("GET", "/find")).json.request.rest ?? "").toBe("");
    expect((await call("GET", "/find/a/b%2Fc/d")).json.request.rest).toBe("a/b%2Fc/d");
  });
});
