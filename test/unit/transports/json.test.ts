import { create, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import {
  AgentCardSchema,
  AuthorizationCodeOAuthFlowSchema,
  ListTasksRequestSchema,
  PartSchema,
  SendMessageRequestSchema,
  StreamResponseSchema,
  TaskSchema,
  TaskStatusSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError } from "../../../src/domain/errors.ts";
import { MAX_VALUE_DEPTH } from "../../../src/domain/readable-fields.ts";
import { printMessage } from "../../../src/transports/json/print.ts";
import { PLAIN, printOptionsFor } from "../../../src/transports/json/print-options.ts";
import { parseJson, readMessage } from "../../../src/transports/json/read.ts";
import { scanJson } from "../../../src/transports/json/scan.ts";
import {
  FindSamplesRequestSchema,
  FindSamplesResponseSchema,
  SampleSchema,
  type Shade,
} from "../../proto-fixture/gen/fixture/v1/fixture_pb.js";

function fields(read: () => unknown): string[] {
  try {
    read();
  } catch (thrown) {
    if (thrown instanceof BatonError && thrown.kind === "InvalidParams") {
      return thrown.violations.map(({ field }) => field);
    }
    throw thrown;
  }
  return [];
}

const readSample = (text: string): unknown => readMessage(SampleSchema, parseJson(text).value);

describe("scanJson", () => {
  it.each([
    ['{"a":1,"b":{"a":2}}', undefined],
    ['{"a":1,"a":2}', "a"],
    ['{"a":{"b":[1,{"c":1,"d":"c","c":2}]}}', "a.b[1].c"],
    ['{"a":1,"\\u0061":2}', "a"],
    ['[{"a":1},{"a":1,"a":1}]', "[1].a"],
    ['{"a":"{\\"b\\":1,\\"b\\":2}"}', undefined],
    ['{"":1,"":2}', ""],
    ['{"a\\\\":1,"a\\\\":2}', "a\\"],
  ])("section 7 finds the repeated name of %s", (text, path) => {
    expect(scanJson(text).duplicate).toBe(path);
  });

  it.each([
    ["1", 0],
    ["[]", 1],
    ['{"a":[{"b":[]}]}', 4],
    ['"[[["', 0],
  ])("the depth of %s is %i", (text, depth) => expect(scanJson(text).depth).toBe(depth));

  it("finds the members of the outermost object as they are written", () => {
    const text = ' { "id" : -12345678901234567890 , "s":"a,\\"}" ,"o":{"id":[1, 2]},"n":null,"t":true}';
    const found = [...scanJson(text).members].map(([name, { start, end }]) => [name, text.slice(start, end)]);
    expect(Object.fromEntries(found)).toEqual({
      id: "-12345678901234567890",
      s: '"a,\\"}"',
      o: '{"id":[1, 2]}',
      n: "null",
      t: "true",
    });
  });
});

describe("readMessage", () => {
  it.each([
    ["name", '{"name":1}'],
    ["name", '{"name":"\\udc00"}'],
    ["shade", '{"shade":"RED"}'],
    ["shade", '{"shade":1.5}'],
    ["shade", '{"shade":[]}'],
    ["byName.x", '{"byName":{"x":"SHADE_GREEN"}}'],
    ["byName.x", '{"by_name":{"x":null}}'],
    ["tags", '{"tags":"a"}'],
    ["tags[1]", '{"tags":["a",1]}'],
    ["extra", '{"extra":1}'],
    ["extra.a.b", '{"extra":{"a":{"b":1e999}}}'],
    ["data", '{"data":-1e400}'],
    ["data", '{"data":{"\\ud800":1}}'],
    ["raw", '{"raw":"a"}'],
    ["raw", '{"raw":"!!"}'],
    ["data", '{"text":"a","data":null}'],
    ["small", '{"small":-1}'],
    ["small", '{"small":4294967296}'],
    ["small", '{"small":"0x1"}'],
    ["big", '{"big":"9223372036854775808"}'],
    ["big", '{"big":true}'],
    ["ratio", '{"ratio":1e39}'],
    ["wrapped", '{"wrapped":1}'],
    ["inner", '{"inner":[]}'],
    ["inner.inner.flag", '{"inner":{"inner":{"flag":"true"}}}'],
    ["parts[0]", '{"parts":[null]}'],
    ["parts[1].label", '{"parts":[{},{"label":1}]}'],
    ["at", '{"at":"2025-01-01T00:00:00z"}'],
    ["at", '{"at":"2025-01-01T24:00:00Z"}'],
    ["at", '{"at":1}'],
  ])("A2A-2, section 7 names %s in %s", (field, text) => {
    expect(fields(() => readSample(text))).toEqual([field]);
  });

  it("A2A-2 names every fault, up to a bound", () => {
    expect(fields(() => readSample('{"name":1,"flag":2,"tags":[3]}'))).toEqual(["name", "flag", "tags[0]"]);
    const many = JSON.stringify({ tags: Array.from({ length: 1_000 }, () => 1) });
    expect(fields(() => readSample(many))).toHaveLength(16);
  });

  it.each([
    ["camelCase and snake_case", '{"byName":{"a":"SHADE_RED"}}', '{"by_name":{"a":1}}'],
    ["integers as text", '{"small":5,"big":"5"}', '{"small":"5","big":5.0}'],
    ["url-safe base64 without padding", '{"raw":"-_8="}', '{"raw":"+/8"}'],
    ["null as absent", "{}", '{"name":null,"tags":null,"extra":null,"inner":null,"text":null}'],
    ["unknown members", "{}", '{"x":{"y":[1e999]},"__proto__":{"name":1}}'],
    ["offsets of times", '{"at":"2025-01-01T00:00:00Z"}', '{"at":"2025-01-01T01:30:00.000+01:30"}'],
  ])("section 7 understands %s", (_, one, other) => {
    expect(readSample(one)).toEqual(readSample(other));
  });

  it("section 7 keeps an unknown enum number, null in a value and an empty struct", () => {
    expect(readSample('{"shade":99,"data":null,"extra":{}}')).toMatchObject({
      shade: 99,
      content: { case: "data", value: { kind: { case: "nullValue" } } },
      extra: {},
    });
  });

  it("an enum name that is no value is refused although unknown members are not", () => {
    const read = (status: string) => () => readMessage(ListTasksRequestSchema, { status, unknown: 1 });
    expect(fields(read("WORKING"))).toEqual(["status"]);
    expect(fields(read("TASK_STATE_WORKING"))).toEqual([]);
    expect(fields(read("toString"))).toEqual(["status"]);
  });

  const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

  it("what is accepted can be stored in an event and read back, at the greatest depth", () => {
    const part = (depth: number) => readMessage(PartSchema, parseJson(`{"data":${nested(depth)}}`).value);
    expect(fields(() => part(MAX_VALUE_DEPTH + 1))).toHaveLength(1);
    const history = [{ messageId: "m", parts: [part(MAX_VALUE_DEPTH)] }];
    const event = create(StreamResponseSchema, {
      payload: {
        case: "task",
        value: create(TaskSchema, {
          history: history.map((each) => ({
            $typeName: "lf.a2a.v1.Message" as const,
            contextId: "",
            taskId: "",
            role: 1,
            metadata: {},
            extensions: [],
            referenceTaskIds: [],
            ...each,
          })),
        }),
      },
    });
    const stored = fromBinary(StreamResponseSchema, toBinary(StreamResponseSchema, event));
    expect(JSON.stringify(printMessage(StreamResponseSchema, stored))).toContain(nested(MAX_VALUE_DEPTH));
  });

  it("a deep message is refused and does not overflow the stack", () => {
    let deep: object = {};
    for (let i = 0; i < 200; i += 1) deep = { inner: deep };
    expect(() => readMessage(SampleSchema, deep as never)).toThrow(BatonError);
  });
});

describe("printMessage", () => {
  it("agrees with the runtime on everything but the rules of A2A", () => {
    const json = {
      name: "n",
      shade: "SHADE_BLUE",
      tags: ["a", ""],
      extra: { a: null, $typeName: "google.protobuf.Struct", fields: { x: 1 } },
      data: [null, { b: 1.5 }],
      byName: { x: "SHADE_RED" },
      small: 4294967295,
      big: "-9223372036854775808",
      ratio: "Infinity",
      wrapped: "",
      inner: { raw: "+/8=" },
      parts: [{ text: "" }, {}],
      at: "2025-01-01T00:00:00.123456Z",
      flag: true,
      label: "",
    };
    const sample = fromJson(SampleSchema, json);
    expect(printMessage(SampleSchema, sample)).toEqual(toJson(SampleSchema, sample));
    expect(printMessage(SampleSchema, sample)).toEqual(json);
    expect(printMessage(SampleSchema, create(SampleSchema))).toEqual({});
  });

  it("A2A-3 REQUIRED fields are printed when empty, in the order of the schema", () => {
    const response = create(FindSamplesResponseSchema);
    expect(JSON.stringify(printMessage(FindSamplesResponseSchema, response))).toBe(
      '{"samples":[],"counts":{},"total":"0","seal":"","partial":false}',
    );
    expect(printMessage(AgentCardSchema, create(AgentCardSchema, { name: "A" }))).toEqual({
      name: "A",
      description: "",
      supportedInterfaces: [],
      version: "",
      defaultInputModes: [],
      defaultOutputModes: [],
      skills: [],
    });
    expect(printMessage(AuthorizationCodeOAuthFlowSchema, create(AuthorizationCodeOAuthFlowSchema))).toEqual({
      authorizationUrl: "",
      tokenUrl: "",
      scopes: {},
    });
  });

  it("A2A-7 the unspecified enum value never appears, an unknown one is a number", () => {
    expect(printMessage(TaskStatusSchema, create(TaskStatusSchema))).toEqual({});
    expect(printMessage(SampleSchema, create(SampleSchema, { shade: 9 as Shade }))).toEqual({ shade: 9 });
  });

  it.each([
    [0, "2026-01-02T03:04:05.000Z"],
    [120_000_000, "2026-01-02T03:04:05.120Z"],
    [1_000, "2026-01-02T03:04:05.000001Z"],
  ])("A2A-115 a time with %i nanoseconds is %s", (nanos, text) => {
    const at = timestampFromDate(new Date("2026-01-02T03:04:05Z"));
    expect(printMessage(SampleSchema, create(SampleSchema, { at: { ...at, nanos } }))).toEqual({ at: text });
  });

  it("a number that is not finite does not make a task unreadable", () => {
    const task = create(TaskSchema, { metadata: { bad: Number.POSITIVE_INFINITY } });
    const stored = fromBinary(TaskSchema, toBinary(TaskSchema, task));
    expect(printMessage(TaskSchema, stored)).toMatchObject({ metadata: { bad: "Infinity" } });
    const part = create(PartSchema, {
      content: {
        case: "data",
        value: { $typeName: "google.protobuf.Value", kind: { case: "numberValue", value: Number.NaN } },
      },
    });
    expect(printMessage(PartSchema, part)).toEqual({ data: "NaN" });
  });

  it("A2A-66 the options follow the request", () => {
    const asked = readMessage(FindSamplesRequestSchema, { includeTags: true });
    const options = printOptionsFor(FindSamplesRequestSchema, asked);
    const response = create(FindSamplesResponseSchema, { samples: [{}] });
    expect(printMessage(FindSamplesResponseSchema, response, options)).toMatchObject({
      samples: [{ tags: [] }],
    });
    expect(printOptionsFor(FindSamplesRequestSchema, create(FindSamplesRequestSchema))).toBe(PLAIN);
    expect(printOptionsFor(SendMessageRequestSchema, create(SendMessageRequestSchema))).toBe(PLAIN);
  });
});
