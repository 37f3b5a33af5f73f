import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type {
  CancelTaskRequest,
  GetTaskRequest,
  TaskPushNotificationConfig,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { BatonError } from "../../../src/domain/errors.ts";
import { AUTH, startA2AServer, type TestServer } from "./a2a-server.ts";
import { type Reply, readSse, type Sent, send1 } from "./client.ts";

const JSON_BODY = { "content-type": "application/json" };
const SEND = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } });
const errors: BatonError[] = [];
let server: TestServer;

beforeAll(async () => {
  server = await startA2AServer({ rest: { onError: (error) => errors.push(error) } });
});
afterAll(() => server.close());
beforeEach(() => {
  server.seen.length = 0;
  errors.length = 0;
});

function call(method: string, path: string, body?: string, sent: Sent = {}): Promise<Reply> {
  const type: Record<string, string> = body === undefined ? {} : JSON_BODY;
  const headers = { ...AUTH, ...type, ...sent.headers };
  return send1(server.port1, { method, path, ...(body === undefined ? {} : { body }), ...sent, headers });
}

function textBody(text: string): string {
  return SEND.replace("hi", text);
}

/** What the last request that reached a handler was. */
function last<T>(): { readonly method: string; readonly request: T } {
  const seen = server.seen.at(-1);
  if (seen === undefined) throw new Error("no request reached a handler");
  return { method: seen.method, request: seen.request as T };
}

describe("bodies", () => {
  it("A2A-78, FR-65 a body that contradicts the path is 400 with the field, and nothing is done", async () => {
    const cancel = await call("POST", "/tasks/T1:cancel", '{"id":"T2"}');
    expect(cancel.status).toBe(400);
    expect(cancel.json.error.details[1].fieldViolations[0].field).toBe("id");
    for (const name of ["taskId", "task_id"]) {
      const body = JSON.stringify({ [name]: "T2", url: "https://x" });
      const create = await call("POST", "/tasks/T1/pushNotificationConfigs", body);
      expect(create.status).toBe(400);
      expect(create.json.error.details[1].fieldViolations[0].field).toBe("taskId");
    }
    expect(server.seen).toEqual([]);
  });

  it("A2A-78 a body that agrees, is empty or absent is fine", async () => {
    for (const body of ['{"id":"T1"}', '{"id":""}', "{}", "", undefined]) {
      expect((await call("POST", "/tasks/T1:cancel", body)).status).toBe(200);
      expect(last<CancelTaskRequest>().request.id).toBe("T1");
    }
    await call("POST", "/tasks/T1/pushNotificationConfigs", '{"task_id":"T1","url":"https://x"}');
    expect(last<TaskPushNotificationConfig>().request).toMatchObject({ taskId: "T1", url: "https://x" });
  });

  it.each(["[]", "1", "null", '"x"'])("a body %s is 400", async (body) => {
    expect((await call("POST", "/message:send", body)).status).toBe(400);
  });

  it("bad JSON and bad UTF-8 are 400", async () => {
    expect((await call("POST", "/message:send", "{")).json.error).toMatchObject({
      code: 400,
      status: "INVALID_ARGUMENT",
      details: [{ reason: "PARSE_ERROR" }],
    });
    const headers = { ...AUTH, ...JSON_BODY };
    const body = Buffer.from('{"x":"\xff"}', "latin1");
    const answer = await send1(server.port1, { method: "POST", path: "/message:send", headers, body });
    expect(answer.status).toBe(400);
  });

  it("a repeated member is refused", async () => {
    const answer = await call("POST", "/tasks/T1:cancel", '{"metadata":{"a":1,"a":2}}');
    expect(answer.json.error.details[1].fieldViolations[0].field).toBe("metadata.a");
  });

  it.each(["application/json", "application/a2a+json", "application/json; charset=utf-8"])(
    "A2A-126 takes %s",
    async (type) => {
      expect((await call("POST", "/message:send", SEND, { headers: { "content-type": type } })).status).toBe(
        200,
      );
    },
  );

  it.each(["text/plain", "application/xml", ""])(
    "A2A-126 refuses %j: 400, and 415 by table 1.0.0",
    async (type) => {
      const headers = { "content-type": type };
      const answer = await call("POST", "/message:send", SEND, { headers });
      expect(answer.status).toBe(400);
      expect(answer.json.error.details[0].reason).toBe("CONTENT_TYPE_NOT_SUPPORTED");
      expect(server.seen).toEqual([]);
    },
  );

  it("a missing body lacks its message", async () => {
    const answer = await call("POST", "/message:send");
    expect(answer.status).toBe(400);
    expect(answer.json.error.details[1].fieldViolations[0].field).toBe("message");
  });
});

describe("answers", () => {
  it.each([
    ["*/*", "", "application/json"],
    ["application/json", "", "application/json"],
    ["application/a2a+json", "", "application/a2a+json"],
    ["application/a2a+json, application/json", "", "application/a2a+json"],
    ["application/json, application/a2a+json;q=0", "", "application/json"],
    ["application/a2a+jsonx", "", "application/json"],
    ["text/event-stream", "", "application/json"],
    ["", "application/a2a+json", "application/a2a+json"],
  ])("A2A-127, FR-62 Accept %j and type %j: %s, on errors too", async (accept, type, expected) => {
    const headers = {
      ...(accept === "" ? {} : { accept }),
      ...(type === "" ? {} : { "content-type": type }),
    };
    expect((await call("GET", "/tasks/T1", undefined, { headers })).headers["content-type"]).toBe(expected);
    expect((await call("GET", "/tasks/nope", undefined, { headers })).headers["content-type"]).toBe(expected);
  });

  it("A2A-153, A2A-155 an error is the JSON of google.rpc.Status", async () => {
    const answer = await call("GET", "/tasks/nope");
    expect(answer.status).toBe(404);
    expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.json).toEqual({
      error: {
        code: 404,
        status: "NOT_FOUND",
        message: "task not found",
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            reason: "TASK_NOT_FOUND",
            domain: "a2a-protocol.org",
            metadata: { taskId: "nope" },
          },
        ],
      },
    });
  });

  it("A2A-158 the edition of the error table is the agent's", async () => {
    const asked: string[] = [];
    const other = await startA2AServer({
      dispatch: {
        errorTable: (agent) => {
          asked.push(agent);
          return "1.0.0";
        },
      },
    });
    try {
      const sent = { method: "POST", path: "/tasks/done:cancel", headers: AUTH };
      const answer = await send1(other.port1, sent);
      expect([answer.status, answer.json.error.code]).toEqual([409, 409]);
      expect(asked).toEqual(["acme"]);
    } finally {
      await other.close();
    }
    expect((await call("POST", "/tasks/done:cancel")).status).toBe(400);
  });

  it("A2A-8 every bad credential is 401 with the same body and a challenge", async () => {
    const texts = new Set<string>();
    for (const authorization of [undefined, "Bearer wrong", "Basic eDp5"]) {
      const headers = { ...JSON_BODY, ...(authorization === undefined ? {} : { authorization }) };
      for (const path of ["/tasks/T1", "/tasks/nope", "/acme/tasks/nope", "/whatever/tasks/T1"]) {
        const answer = await send1(server.port1, { path, headers });
        expect(answer.status).toBe(401);
        expect(answer.headers["www-authenticate"]).toBe('Bearer realm="baton"');
        texts.add(answer.text);
      }
    }
    expect(texts.size).toBe(1);
    expect(server.seen).toEqual([]);
  });

  it("A2A-15 Retry-After is at least one second", async () => {
    const limited = await call("POST", "/message:send", textBody("limited"));
    expect([limited.status, limited.headers["retry-after"]]).toEqual([429, "2"]);
    const busy = await call("POST", "/message:send", textBody("busy"));
    expect([busy.status, busy.headers["retry-after"]]).toEqual([503, "1"]);
  });

  it("A2A-160 internals stay inside", async () => {
    const answer = await call("POST", "/message:send", textBody("boom"));
    expect([answer.status, answer.json.error.message]).toEqual([500, "internal error"]);
    expect(answer.text).not.toContain("redis");
    expect(String(errors[0]?.cause)).toContain("redis://secret");
  });

  it("A2A-20 a version that is not served is 400; 0.3 on a path of 1.0 is 404", async () => {
    const as = (version: string): Promise<Reply> =>
      call("POST", "/message:send", "{", { headers: { "A2A-Version": version } });
    expect((await as("99.0")).json.error.details[0].reason).toBe("VERSION_NOT_SUPPORTED");
    expect((await call("GET", "/tasks/T1?A2A-Version=99.0")).status).toBe(400);
    expect((await call("GET", "/tasks/T1?A2A-Version=1.0")).status).toBe(200);
    const both = await startA2AServer({ dispatch: { versions: ["1.0", "0.3"] } });
    try {
      const headers = { ...AUTH, "A2A-Version": "0.3" };
      expect((await send1(both.port1, { path: "/tasks/T1", headers })).status).toBe(404);
    } finally {
      await both.close();
    }
  });
});

describe("streams", () => {
  it("A2A-138, A2A-141, FR-36 events are bare and carry their position", async () => {
    const answer = await call("POST", "/message:stream", SEND);
    expect(answer.headers).toMatchObject({ "x-accel-buffering": "no", "x-stream": "on" });
    const events = readSse(answer.text);
    expect(events.map(({ id }) => id)).toEqual(["1", "2"]);
    expect(events.map(({ data }) => Object.keys(JSON.parse(data)))).toEqual([["task"], ["statusUpdate"]]);
  });

  it("A2A-139, FR-34 an early error is an ordinary error", async () => {
    const missing = await call("GET", "/tasks/nope:subscribe", undefined, {
      headers: { accept: "text/event-stream" },
    });
    expect([missing.status, missing.headers["content-type"]]).toEqual([404, "application/json"]);
    expect((await call("POST", "/message:stream", textBody("early"))).status).toBe(400);
  });

  it("A2A-140 a late error is an event of that name, without internals", async () => {
    const events = readSse((await call("POST", "/message:stream", textBody("late"))).text);
    expect(events[1]).toMatchObject({ event: "error" });
    expect(JSON.parse(events[1]?.data ?? "").error).toMatchObject({ code: 503, status: "UNAVAILABLE" });
    const crash = (await call("POST", "/message:stream", textBody("crash"))).text;
    expect(crash).not.toContain("redis");
    expect(readSse(crash)).toHaveLength(2);
  });

  it("keeps GetTask's request as it was asked", async () => {
    await call("GET", "/tasks/T1?historyLength=0");
    expect(last<GetTaskRequest>().request.historyLength).toBe(0);
  });
});
