/** What clients in the field really send, and what they need back, over plain HTTP against a whole gateway. */
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import type { TestWorker } from "../scenarios/actors.ts";
import { workerOf } from "./rig.ts";

let gateway: TestGateway;
let strict: TestGateway;
let token: string;
let worker: TestWorker;

beforeAll(async () => {
  gateway = await startTestGateway({ agents: { front: {}, blue: {} }, defaultAgent: "front" });
  strict = await startTestGateway({ versions: { strict: true }, streams: { earlyErrors: "sse" } });
  token = await gateway.vend();
  worker = await workerOf(gateway);
});
afterAll(async () => {
  await gateway?.stop();
  await strict?.stop();
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // The tests look into answers of every shape.
  // biome-ignore lint/suspicious/noExplicitAny: parsed JSON of an answer
  readonly json: any;
}

interface Ask {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly to?: TestGateway;
  readonly as?: string;
  /** Answer after this much of the text has come, for streams. */
  readonly until?: RegExp;
}

/** Not `fetch`: that cleans paths up, and adds headers of its own. */
function ask(
  method: string,
  path: string,
  { headers = {}, body, to = gateway, as = token, until }: Ask = {},
): Promise<Answer> {
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: "127.0.0.1",
        port: to.port,
        method,
        path,
        headers: {
          authorization: `Bearer ${as}`,
          ...(text === ""
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
          ...headers,
        },
      },
      (response) => {
        let received = "";
        const finish = () => {
          const json =
            /json/.test(String(response.headers["content-type"])) && received !== ""
              ? JSON.parse(received)
              : undefined;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text: received, json });
        };
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          received += chunk;
          if (until?.test(received)) {
            finish();
            request.destroy();
          }
        });
        response.on("end", finish);
        response.on("error", () => {});
      },
    );
    request.on("error", reject);
    request.end(text);
  });
}

const message = (text = "x") => ({ messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] });
const send = (extra: object = {}) => ({
  message: message(),
  configuration: { returnImmediately: true },
  ...extra,
});
const rpc = (method: string, params: unknown, id: unknown = 1) => ({ jsonrpc: "2.0", id, method, params });

async function started(path = ""): Promise<string> {
  const answer = await ask("POST", `${path}/message:send`, { body: send() });
  return answer.json.task.id;
}

describe("subscribe", () => {
  it.each([
    ["GET", {}],
    ["GET", { "content-type": "application/json" }],
    ["POST", {}],
    ["POST", { "content-type": "application/json" }],
  ])("FR-60 %s without a body, headers %j", async (method, headers) => {
    const id = await started();
    const answer = await ask(method, `/tasks/${id}:subscribe`, { headers, until: /\n\n/ });
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "text/event-stream"]);
  });

  it("FR-60 POST with a body, as the text of the specification has it", async () => {
    const id = await started();
    for (const body of [{}, { id }, { id, tenant: "front" }]) {
      const answer = await ask("POST", `/tasks/${id}:subscribe`, { body, until: /\n\n/ });
      expect(answer.status).toBe(200);
    }
    expect((await ask("POST", `/tasks/${id}:subscribe`, { body: { id: "other" } })).status).toBe(400);
  });

  it("FR-60 both verbs in 0.3, where one client tries POST and the other GET", async () => {
    const id = await started();
    for (const method of ["GET", "POST"]) {
      const answer = await ask(method, `/v1/tasks/${id}:subscribe`, { until: /\n\n/ });
      expect([answer.status, answer.headers["content-type"]]).toEqual([200, "text/event-stream"]);
    }
  });

  it("FR-60 an encoded colon is part of the id", async () => {
    const answer = await ask("GET", `/tasks/${await started()}%3Asubscribe`);
    expect([answer.status, answer.json.error.details[0].reason]).toEqual([404, "TASK_NOT_FOUND"]);
  });
});

describe("addresses", () => {
  it("A2A-123 JSON-RPC at the interface url with and without its slash, with and without the tenant", async () => {
    for (const path of ["/", "/front", "/front/", "/?A2A-Version=1.0"]) {
      const answer = await ask("POST", path, { body: rpc("SendMessage", send()) });
      expect(answer.json.result.task.id, path).toMatch(/^td_/);
    }
  });

  it("A2A-123 HTTP+JSON with slashes behind", async () => {
    const id = await started();
    for (const path of ["/tasks/", `/tasks/${id}/`, `/front/tasks/${id}/`]) {
      expect((await ask("GET", path)).status, path).toBe(200);
    }
    expect((await ask("POST", "/message:send/", { body: send() })).status).toBe(200);
  });

  it("A2A-123 a push config without id, as the Java client asks for it, is no config of id nothing", async () => {
    const answer = await ask("GET", `/tasks/${await started()}/pushNotificationConfigs/`);
    expect([200, 400, 404]).toContain(answer.status);
    expect(JSON.stringify(answer.json)).not.toContain('"id":""');
  });

  it("a2a.md 9 the JS client: tenant in path and body, both types in Accept, a Content-Type on every verb", async () => {
    const headers = { accept: "application/a2a+json, application/json", "content-type": "application/json" };
    const sent = await ask("POST", "/front/message:send", { headers, body: send({ tenant: "front" }) });
    expect([sent.status, sent.headers["content-type"]]).toEqual([200, "application/a2a+json"]);
    const { id } = sent.json.task;
    expect((await ask("GET", `/front/tasks/${id}?historyLength=1`, { headers })).json.id).toBe(id);
    expect(
      (await ask("POST", `/front/tasks/${id}:cancel`, { headers, body: { id, tenant: "front" } })).json.id,
    ).toBe(id);
    const gone = await ask("DELETE", `/front/tasks/${id}/pushNotificationConfigs/none`, { headers });
    expect([200, 400]).toContain(gone.status);
  });

  it("A2A-124 the Go client's name of the time filter", async () => {
    await started();
    const future = encodeURIComponent(new Date(Date.now() + 60_000).toISOString());
    expect((await ask("GET", `/tasks?lastUpdatedAfter=${future}`)).json.totalSize).toBe(0);
    expect(
      (await ask("GET", "/tasks?lastUpdatedAfter=yesterday")).json.error.details[1].fieldViolations[0].field,
    ).toBe("statusTimestampAfter");
  });

  it("A2A-119, A2A-120 parameters by either spelling, lists, enums, times with an offset", async () => {
    const at = (await ask("GET", `/tasks/${await started()}`)).json.status.timestamp;
    const time = new Date(at);
    const offset = new Date(time.getTime() + 5.5 * 3_600_000).toISOString().replace("Z", "+05:30");
    for (const query of [
      `statusTimestampAfter=${encodeURIComponent(offset)}`,
      `status_timestamp_after=${encodeURIComponent(at)}`,
      // A plus sign that was not encoded.
      `statusTimestampAfter=${offset}`,
      "status=TASK_STATE_SUBMITTED&page_size=100&historyLength=0",
      "includeArtifacts=true&unknown=1",
    ]) {
      const answer = await ask("GET", `/tasks?${query}`);
      expect([answer.status, answer.json.totalSize > 0], query).toEqual([200, true]);
    }
    for (const [query, field] of [
      ["pageSize=abc", "pageSize"],
      ["page_size=0", "pageSize"],
      ["includeArtifacts=yes", "includeArtifacts"],
      ["status=WORKING", "status"],
      ["statusTimestampAfter=2025-13-01T00:00:00Z", "statusTimestampAfter"],
      ["statusTimestampAfter=2025-01-01T00:00:00", "statusTimestampAfter"],
    ]) {
      const answer = await ask("GET", `/tasks?${query}`);
      expect([answer.status, answer.json.error.details[1].fieldViolations[0].field], query).toEqual([
        400,
        field,
      ]);
    }
  });
});

describe("methods", () => {
  it.each([
    ["/message:send", "POST, OPTIONS"],
    ["/tasks", "GET, OPTIONS, HEAD"],
    ["/tasks/x", "GET, OPTIONS, HEAD"],
    ["/tasks/x:cancel", "POST, OPTIONS"],
    ["/extendedAgentCard", "GET, OPTIONS, HEAD"],
    ["/", "POST, OPTIONS"],
  ])(
    "OPTIONS %s tells what there is, and anything else is 405 in the words of the binding",
    async (path, allow) => {
      const options = await ask("OPTIONS", path);
      expect([options.status, options.headers.allow]).toEqual([204, allow]);
      for (const method of ["PUT", "PATCH", "TRACE"]) {
        const answer = await ask(method, path);
        expect([answer.status, answer.headers.allow], method).toEqual([405, allow]);
        expect(answer.json.error).toBeDefined();
      }
    },
  );

  it("HEAD is GET without the body", async () => {
    const id = await started();
    const [get, head] = [await ask("GET", `/tasks/${id}`), await ask("HEAD", `/tasks/${id}`)];
    expect([head.status, head.text, head.headers["content-length"]]).toEqual([
      200,
      "",
      get.headers["content-length"],
    ]);
    expect((await ask("HEAD", "/tasks/never-was")).status).toBe(404);
    expect((await ask("HEAD", "/.well-known/agent-card.json")).headers.etag).toBe(
      (await ask("GET", "/.well-known/agent-card.json")).headers.etag,
    );
  });

  it("A2A-155 404 for a path that is none, with the body of an error", async () => {
    for (const path of ["/tasks/x/y/z", "/front/nope/x", "/tasks//x"]) {
      const answer = await ask("GET", path);
      expect(answer.status, path).toBe(404);
      expect(answer.json.error.code ?? answer.json.error, path).toBeDefined();
    }
  });
});

describe("types", () => {
  it("A2A-126 either JSON type with a charset is taken, others are not", async () => {
    for (const type of [
      "application/json",
      "application/a2a+json",
      "application/json; charset=utf-8",
      'Application/JSON;charset="UTF-8"',
    ]) {
      const headers = { "content-type": type };
      expect((await ask("POST", "/message:send", { headers, body: send() })).status, type).toBe(200);
      expect(
        (await ask("POST", "/", { headers, body: rpc("SendMessage", send()) })).json.result,
        type,
      ).toBeDefined();
    }
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "application/jsonx",
      "application/json; charset=latin1",
    ]) {
      const headers = { "content-type": type };
      const rest = await ask("POST", "/message:send", { headers, body: send() });
      expect([rest.status, rest.json.error.details[0].reason], type).toEqual([
        400,
        "CONTENT_TYPE_NOT_SUPPORTED",
      ]);
      expect(
        (await ask("POST", "/", { headers, body: rpc("SendMessage", send()) })).json.error.code,
        type,
      ).toBe(-32005);
    }
  });

  it("A2A-127, FR-62 the answer's type is the one that the client can read, on errors too", async () => {
    for (const [accept, type] of [
      ["application/json", "application/json"],
      ["*/*", "application/json"],
      ["application/a2a+json", "application/a2a+json"],
      ["application/a2a+json;q=0, application/json", "application/json"],
      ["text/html", "application/json"],
    ] as const) {
      const headers = { accept };
      expect((await ask("GET", "/tasks", { headers })).headers["content-type"], accept).toBe(type);
      expect((await ask("GET", "/tasks/never-was", { headers })).headers["content-type"], accept).toBe(type);
    }
  });

  it("A2A-121, A2A-125 every success is 200 with a JSON body, a cancel without a body too", async () => {
    const id = await started();
    const canceled = await ask("POST", `/tasks/${id}:cancel`);
    expect([canceled.status, canceled.json.status.state]).toEqual([200, "TASK_STATE_CANCELED"]);
  });

  it("A2A-128 bytes that are no UTF-8 are a parse error", async () => {
    const bytes = Buffer.from(JSON.stringify(rpc("GetTask", { id: "\u00e4" })), "latin1");
    const answer = await fetch(gateway.url, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: bytes,
    });
    expect(((await answer.json()) as { error: { code: number } }).error.code).toBe(-32700);
  });
});

describe("cards", () => {
  it("FR-70 a fetch without a version gets what both sides can read; with one, its own shape", async () => {
    const fetchCard = async (headers: Record<string, string> = {}) =>
      (await ask("GET", "/.well-known/agent-card.json", { headers })).json;
    const [hybrid, modern, legacy, strange] = [
      await fetchCard(),
      await fetchCard({ "a2a-version": "1.0" }),
      await fetchCard({ "a2a-version": "0.3" }),
      await fetchCard({ "a2a-version": "99.0" }),
    ];
    for (const card of [hybrid, strange]) {
      expect(card.supportedInterfaces.length).toBeGreaterThan(0);
      expect([card.url, card.preferredTransport, card.protocolVersion]).toEqual([
        gateway.url,
        "JSONRPC",
        expect.stringMatching(/^0\.3/),
      ]);
    }
    expect(modern.url).toBeUndefined();
    expect(legacy.supportedInterfaces).toBeUndefined();
    expect(legacy.additionalInterfaces.length).toBeGreaterThan(0);
  });

  it("A2A-22 one address answers both versions, told apart by the name of the method", async () => {
    const id = await started();
    expect((await ask("POST", "/", { body: rpc("GetTask", { id }) })).json.result.status.state).toBe(
      "TASK_STATE_SUBMITTED",
    );
    expect((await ask("POST", "/", { body: rpc("tasks/get", { id }) })).json.result.status.state).toBe(
      "submitted",
    );
  });
});

describe("versions, to the letter", () => {
  let own: string;
  beforeAll(async () => {
    own = await strict.vend();
  });
  const at = (extra: Ask = {}): Ask => ({ to: strict, as: own, ...extra });

  it("A2A-19 strict: a 1.0 form without a version is read as 0.3, and so not supported", async () => {
    for (const headers of [{}, { "a2a-version": "" }] as const) {
      expect(
        (await ask("POST", "/", at({ headers, body: rpc("GetTask", { id: "x" }) }))).json.error.code,
      ).toBe(-32009);
      expect((await ask("GET", "/tasks", at({ headers }))).status).toBe(400);
    }
    const headers = { "a2a-version": "1.0" };
    expect((await ask("GET", "/tasks", at({ headers }))).status).toBe(200);
    expect((await ask("POST", "/", at({ headers, body: rpc("GetTask", { id: "x" }) }))).json.error.code).toBe(
      -32001,
    );
    expect((await ask("POST", "/", at({ body: rpc("tasks/get", { id: "x" }) }))).json.error.code).toBe(
      -32001,
    );
  });

  it("A2A-18 as a query parameter, where the header is absent or blank; the header wins", async () => {
    expect((await ask("GET", "/tasks?A2A-Version=1.0", at())).status).toBe(200);
    expect((await ask("GET", "/tasks?A2A-Version=1.0", at({ headers: { "a2a-version": " " } }))).status).toBe(
      200,
    );
    expect(
      (await ask("GET", "/tasks?A2A-Version=1.0", at({ headers: { "a2a-version": "9.9" } }))).status,
    ).toBe(400);
    expect(
      (await ask("GET", "/tasks?A2A-Version=9.9", at({ headers: { "a2a-version": "1.0" } }))).status,
    ).toBe(200);
  });

  it("a2a.md 2.5.1 earlyErrors sse: an early error of a stream is the one event of a stream", async () => {
    const headers = { "a2a-version": "1.0", accept: "text/event-stream" };
    const answer = await ask(
      "POST",
      "/",
      at({ headers, body: rpc("SubscribeToTask", { id: "nope" }, "abc") }),
    );
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "text/event-stream"]);
    const data = JSON.parse(answer.text.replace(/^data: /, ""));
    expect([data.id, data.error.code]).toEqual(["abc", -32001]);
  });

  it("FR-34 by default it is JSON, with the id of the request", async () => {
    const headers = { accept: "text/event-stream" };
    const answer = await ask("POST", "/", { headers, body: rpc("SubscribeToTask", { id: "nope" }, 0) });
    expect([answer.headers["content-type"], answer.json.id, answer.json.error.code]).toEqual([
      "application/json",
      0,
      -32001,
    ]);
    expect((await ask("GET", "/tasks/nope:subscribe", { headers })).status).toBe(404);
  });
});

it("A2A-5, FR-5 unknown members are ignored at every depth, on either HTTP binding", async () => {
  const request = {
    message: { ...message(), mood: 1, parts: [{ text: "x", hue: { red: [1] } }] },
    configuration: { returnImmediately: true, shiny: true },
    later: { x: [1] },
  };
  expect((await ask("POST", "/message:send", { body: request })).status).toBe(200);
  const again = { ...request, message: { ...request.message, messageId: crypto.randomUUID() } };
  const answer = await ask("POST", "/", { body: rpc("SendMessage", again) });
  expect(JSON.stringify(answer.json)).not.toMatch(/mood|hue|shiny|later/);
});

it("A2A-38 wanted output modes are told to the worker, and are no reason to refuse", async () => {
  const configuration = {
    returnImmediately: true,
    acceptedOutputModes: ["image/x-nobody-makes", "text/plain"],
  };
  const sent = await ask("POST", "/message:send", { body: { message: message(), configuration } });
  expect(sent.status).toBe(200);
  const { todo } = await worker.client.claimById({ id: sent.json.task.id, claimant: "w" });
  expect(todo?.acceptedOutputModes).toEqual(configuration.acceptedOutputModes);
});

it("A2A-115 times are UTC with three fraction digits, whatever is asked", async () => {
  const id = await started();
  await worker.do(id, [{ artifactId: "a", parts: [{ text: "x" }] }]);
  const text = JSON.stringify([
    (await ask("GET", `/tasks/${id}`)).json,
    (await ask("GET", "/tasks")).json,
    (await ask("POST", "/", { body: rpc("tasks/get", { id }) })).json,
    (await ask("GET", `/v1/tasks/${id}`)).json,
    (
      await ask("POST", "/lf.a2a.v1.A2AService/GetTask", {
        headers: { "connect-protocol-version": "1" },
        body: { id },
      })
    ).json,
  ]);
  const times = [...text.matchAll(/"timestamp":"([^"]*)"/g)].map((match) => match[1]);
  expect(times.length).toBeGreaterThan(5);
  for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

it("FR-65 a body that names something else than the path is refused, whatever it is", async () => {
  const id = await started();
  for (const other of ["other", 7, true, [id], { toString: id }, { toString: null }, { valueOf: 1 }]) {
    const answer = await ask("POST", `/tasks/${id}:cancel`, { body: { id: other } });
    expect([answer.status, answer.json.error.details[1].fieldViolations[0].field]).toEqual([400, "id"]);
  }
  expect((await ask("GET", `/tasks/${id}`)).json.status.state).toBe("TASK_STATE_SUBMITTED");
});

it("A2A-132, A2A-133 what expects no answer, or many, is refused and does nothing", async () => {
  const before = (await ask("GET", "/tasks")).json.totalSize;
  const notification = { jsonrpc: "2.0", method: "SendMessage", params: send() };
  for (const body of [notification, [rpc("SendMessage", send())], []]) {
    const answer = await ask("POST", "/", { body });
    expect([answer.status, answer.json.id, answer.json.error.code]).toEqual([200, null, -32600]);
  }
  expect((await ask("GET", "/tasks")).json.totalSize).toBe(before);
});
