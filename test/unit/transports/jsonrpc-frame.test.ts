import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { AUTH, startA2AServer, type TestServer } from "./a2a-server.ts";
import { type Sent, send2 } from "./client.ts";
import { JSON_BODY, jsonRpcClient, message } from "./jsonrpc-client.ts";

let server: TestServer;
const { post, rpc } = jsonRpcClient(() => server);

beforeAll(async () => {
  server = await startA2AServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.seen.length = 0;
});

describe("frame", () => {
  it("A2A-129 answers with jsonrpc, the id and a result, as application/json", async () => {
    const answer = await rpc("GetTask", { id: "T1" });
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(Object.keys(answer.json)).toEqual(["jsonrpc", "id", "result"]);
    expect(answer.json.result.id).toBe("T1");
  });

  it("A2A-129 serves HTTP/2 alike", async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: "two", method: "GetTask", params: { id: "T1" } });
    const answer = await send2(server.port2, { method: "POST", headers: { ...AUTH, ...JSON_BODY }, body });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ id: "two", result: { id: "T1" } });
  });

  it.each([
    "42",
    "0",
    '""',
    '"42"',
    "null",
    "9007199254740991",
    "-1",
    "9007199254740993",
    "123456789012345678901234567890",
    '"a\\u0022b"',
  ])("A2A-131, FR-63 echoes the id %s to the letter", async (id) => {
    const good = await post(`{"jsonrpc":"2.0", "method":"GetTask","params":{"id":"T1"}, "id" : ${id} }`);
    expect(good.text.startsWith(`{"jsonrpc":"2.0","id":${id},"result":`)).toBe(true);
    const bad = await post(`{"id":${id},"jsonrpc":"2.0","method":"nope"}`);
    expect(bad.text.startsWith(`{"jsonrpc":"2.0","id":${id},"error":`)).toBe(true);
  });

  it.each(["1.5", "1.0", "1e3", "true", "{}", "[]", "[1]"])("A2A-131 refuses the id %s", async (id) => {
    const answer = await post(`{"jsonrpc":"2.0","id":${id},"method":"GetTask","params":{"id":"T1"}}`);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ id: null, error: { code: -32600 } });
    expect(server.seen).toEqual([]);
  });

  it("A2A-132 refuses a request without id and executes nothing", async () => {
    const answer = await post('{"jsonrpc":"2.0","method":"GetTask","params":{"id":"T1"}}');
    expect(answer.json).toMatchObject({ id: null, error: { code: -32600 } });
    expect(server.seen).toEqual([]);
  });

  it.each(["[]", '[{"jsonrpc":"2.0","id":1,"method":"ListTasks"}]'])(
    "A2A-133 answers the batch %s with one error",
    async (body) => {
      const answer = await post(body);
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ id: null, error: { code: -32600 } });
      expect(server.seen).toEqual([]);
    },
  );

  it.each(["", "{", "{'a':1}", '{"id":1}}', "nul"])(
    "A2A-130 bad JSON %j is -32700 with id null",
    async (body) => {
      const answer = await post(body);
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ id: null, error: { code: -32700 } });
    },
  );

  it("A2A-128 bytes that are not UTF-8 are a parse error", async () => {
    const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"\xff"}}', "latin1");
    expect((await post(body)).json).toMatchObject({ id: null, error: { code: -32700 } });
  });

  it.each(["null", "1", '"x"', "true"])("A2A-130 the document %s is no request", async (body) => {
    expect((await post(body)).json).toMatchObject({ id: null, error: { code: -32600 } });
  });

  it.each(['"1.0"', "2", "null", "2.0"])("A2A-129 refuses jsonrpc %s with the id", async (version) => {
    const answer = await post(`{"jsonrpc":${version},"id":7,"method":"GetTask","params":{"id":"T1"}}`);
    expect(answer.json).toMatchObject({ id: 7, error: { code: -32600 } });
  });

  it.each([
    '{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask"}',
    '{"jsonrpc":"2.0","id":1,"method":"a","m\\u0065thod":"GetTask"}',
  ])("refuses a frame that repeats a member: %s", async (body) => {
    expect((await post(body)).json).toMatchObject({ id: null, error: { code: -32600 } });
  });

  it("refuses a repeated member of the params and names it", async () => {
    const body = '{"jsonrpc":"2.0","id":3,"method":"GetTask","params":{"id":"T1","id":"T2"}}';
    const answer = (await post(body)).json;
    expect(answer).toMatchObject({ id: 3, error: { code: -32602 } });
    expect(answer.error.data[1].fieldViolations[0].field).toBe("id");
    expect(server.seen).toEqual([]);
  });

  it.each(["[]", '"x"', "1", "false"])("A2A-130 params %s are -32602", async (params) => {
    const answer = await post(`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":${params}}`);
    expect(answer.json).toMatchObject({ id: 1, error: { code: -32602 } });
  });

  it.each([undefined, null, {}])("A2A-114 params %j are an empty request", async (params) => {
    expect((await rpc("GetExtendedAgentCard", params)).json.result.name).toBe("Acme");
  });
});

describe("methods", () => {
  it("FR-64 serves all eleven names of 1.0", async () => {
    const params = { id: "T1", taskId: "T1", url: "https://x", ...message("hi") };
    for (const { name } of A2AService.methods) {
      const answer = await rpc(name, params);
      expect(answer.text, name).not.toContain('"error"');
    }
    expect(new Set(server.seen.map(({ method }) => method)).size).toBe(11);
  });

  it.each(["sendMessage", "SendMessage ", "constructor", "__proto__", "toString", "", "hasOwnProperty"])(
    "A2A-136, FR-64 %j is -32601",
    async (method) => {
      const answer = await rpc(method, {});
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ id: 1, error: { code: -32601 } });
    },
  );

  it("A2A-19, A2A-20 a 0.3 name without a version asks for 0.3, which is not offered here", async () => {
    expect((await rpc("message/send", {})).json).toMatchObject({ id: 1, error: { code: -32009 } });
  });

  it.each([7, null, {}, ["GetTask"]])("A2A-130 the method %j is -32600", async (method) => {
    expect((await rpc(method, {})).json).toMatchObject({ id: 1, error: { code: -32600 } });
  });

  it("A2A-135 a 1.0 name without a version is served; 0.3 asked by name is not", async () => {
    expect((await rpc("GetTask", { id: "T1" })).json.result.id).toBe("T1");
    const as = (version: string): Sent => ({ headers: { "A2A-Version": version } });
    expect((await rpc("GetTask", { id: "T1" }, as("1.0.7"))).json.result.id).toBe("T1");
    expect((await rpc("message/send", {}, as("1.0"))).json.error.code).toBe(-32601);
    expect((await rpc("GetTask", { id: "T1" }, { path: "/?A2A-Version=1.0" })).json.result.id).toBe("T1");
  });

  it.each(["99.0", "0.5", "abc"])(
    "A2A-20 version %s is refused before method and params",
    async (version) => {
      const headers = { "A2A-Version": version };
      for (const answer of [
        await rpc("GetTask", { id: "T1" }, { headers }),
        await rpc("tasks.get", { id: 1 }, { headers }),
        await rpc("GetTask", [1], { headers }),
      ]) {
        expect(answer.json.error.code).toBe(-32009);
        expect(answer.json.error.data[0].metadata.supportedVersions).toBe("1.0");
      }
    },
  );
});
