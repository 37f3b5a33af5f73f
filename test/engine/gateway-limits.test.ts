import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { create, fromBinary } from "@bufbuild/protobuf";
import { DurationSchema, durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { type Sender, says, senderOf } from "./client.ts";
import { startWorld, type World } from "./world.ts";

const BURST = 4;
/** One token in ten seconds: none comes back while a test looks. */
const SLOW = { perSecond: 0.1, burst: BURST };
const MANY = { perSecond: 10_000, burst: 10_000 };

let world: World;

beforeAll(async () => {
  world = await startWorld({ limits: { perAddress: MANY, perEndpoint: MANY, send: SLOW } }, 2);
});
afterAll(() => world?.stop());

const message = () => ({ messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "hi" }] });
const asked = { returnImmediately: true };

type Json = Record<string, unknown>;

/** A refusal as one binding shows it. */
interface Refusal {
  readonly status: number | string;
  readonly retryAfter: string | null;
  /** Seconds of google.rpc.RetryInfo. */
  readonly retryDelay: number;
}

function delayOf(details: readonly Record<string, unknown>[] | undefined): number {
  const info = details?.find((detail) => String(detail["@type"]).endsWith("google.rpc.RetryInfo"));
  return Number.parseFloat(String(info?.retryDelay ?? "nothing"));
}

async function post(path: string, token: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${world.gateway.url}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "a2a-version": "1.0",
      authorization: `Bearer ${token}`,
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return { response, json: (await response.json()) as Json };
}

/** A detail of a Connect error, which carries them as protobuf in base64. */
function connectDetail(json: Json, type: string): Buffer {
  const details = json.details as readonly { type: string; value: string }[];
  return Buffer.from(details.find((detail) => detail.type === type)?.value ?? "", "base64");
}

/** One send on each binding; undefined where it went through. */
const BINDINGS: Readonly<Record<string, (token: string) => Promise<Refusal | undefined>>> = {
  async grpc(token) {
    try {
      await senderOf(world.gateway.url, token).send("hi");
      return undefined;
    } catch (thrown) {
      const error = ConnectError.from(thrown);
      const [info] = error.findDetails(RetryInfoSchema);
      return {
        status: Code[error.code] ?? "",
        retryAfter: error.metadata.get("retry-after"),
        retryDelay: durationMs(info?.retryDelay ?? create(DurationSchema)) / 1000,
      };
    }
  },
  async connect(token) {
    const path = "/lf.a2a.v1.A2AService/SendMessage";
    const { response, json } = await post(path, token, { message: message(), configuration: asked });
    if (response.ok) return undefined;
    const info = connectDetail(json, "google.rpc.RetryInfo");
    const { retryDelay } = fromBinary(RetryInfoSchema, info);
    return {
      status: `${response.status} ${json.code}`,
      retryAfter: response.headers.get("retry-after"),
      retryDelay: durationMs(retryDelay ?? create(DurationSchema)) / 1000,
    };
  },
  async jsonrpc(token) {
    const { response, json } = await post("/", token, {
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: { message: message(), configuration: asked },
    });
    const error = json.error as { code: number; data: Record<string, unknown>[] } | undefined;
    if (error === undefined) return undefined;
    return {
      status: `${response.status} ${error.code}`,
      retryAfter: response.headers.get("retry-after"),
      retryDelay: delayOf(error.data),
    };
  },
  async rest(token) {
    const { response, json } = await post("/message:send", token, {
      message: message(),
      configuration: asked,
    });
    if (response.ok) return undefined;
    const error = json.error as { status: string; details: Record<string, unknown>[] };
    return {
      status: `${response.status} ${error.status}`,
      retryAfter: response.headers.get("retry-after"),
      retryDelay: delayOf(error.details),
    };
  },
};

const REFUSED: Readonly<Record<string, string>> = {
  grpc: "ResourceExhausted",
  connect: "429 resource_exhausted",
  jsonrpc: "429 -32000",
  rest: "429 RESOURCE_EXHAUSTED",
};

describe("the send bucket", () => {
  it.each(Object.keys(BINDINGS))(
    "SB-51 over %s: burst + 1 sends, the last refused with when to come back, and nothing made of it",
    async (name) => {
      const token = await world.gateway.vend();
      const send = BINDINGS[name] ?? (async () => undefined);
      for (let i = 0; i < BURST; i += 1) expect(await send(token), `send ${i}`).toBeUndefined();
      const refusal = await send(token);
      expect(refusal?.status).toBe(REFUSED[name]);
      expect(Number(refusal?.retryAfter)).toBeGreaterThanOrEqual(1);
      expect(Number(refusal?.retryAfter)).toBeLessThanOrEqual(10);
      expect(refusal?.retryDelay).toBeGreaterThan(0);
      expect(refusal?.retryDelay).toBeLessThanOrEqual(10);
      const { totalSize } = await senderOf(world.gateway.url, token).client.listTasks({});
      expect(totalSize).toBe(BURST);
      // Another endpoint is not touched by it.
      expect(await send(await world.gateway.vend())).toBeUndefined();
    },
  );

  it("SB-51 is one bucket for all bindings, versions and gateways", async () => {
    const token = await world.gateway.vend();
    const there = senderOf(world.gateways[1]?.url ?? "", token);
    expect(await BINDINGS.rest?.(token)).toBeUndefined();
    expect(await BINDINGS.grpc?.(token)).toBeUndefined();
    await there.send("from there");
    const old = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "hi" }] };
    const { json } = await post(
      "/",
      token,
      {
        jsonrpc: "2.0",
        id: 1,
        method: "message/send",
        params: { message: old, configuration: { blocking: false } },
      },
      { "a2a-version": "0.3" },
    );
    expect(json).toHaveProperty("result");
    await expect(there.send("one too many")).rejects.toMatchObject({ code: Code.ResourceExhausted });
    expect(await BINDINGS.jsonrpc?.(token)).toMatchObject({ status: "429 -32000" });
    const stream = there.client.sendStreamingMessage({ message: says("a stream") });
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
  });

  it("SB-51 refills with time, and not beyond the burst", async () => {
    const quick = await startWorld({
      limits: { perAddress: MANY, perEndpoint: MANY, send: { perSecond: 1, burst: 2 } },
    });
    try {
      const sender = await quick.sender();
      const tryOne = () =>
        sender.send("x").then(
          () => "sent",
          (error) => Code[ConnectError.from(error).code],
        );
      // All at once, so that a slow machine refills nothing between them.
      const tryThree = async () => (await Promise.all([tryOne(), tryOne(), tryOne()])).sort();
      const twoOfThree = ["ResourceExhausted", "sent", "sent"];
      expect(await tryThree()).toEqual(twoOfThree);
      await new Promise((resolve) => setTimeout(resolve, 1100));
      expect(await tryOne()).toBe("sent");
      await new Promise((resolve) => setTimeout(resolve, 4000));
      expect(await tryThree()).toEqual(twoOfThree);
    } finally {
      await quick.stop();
    }
  });

  it("SB-51 Q11 a replay of the same message spends a token, too", async () => {
    const sender = await world.sender();
    const again = { message: { messageId: "the same" } };
    for (let i = 0; i < BURST; i += 1) await sender.send("x", again);
    await expect(sender.send("x", again)).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });

  it("SB-52 reads spend none of it, and go on when it is empty", async () => {
    const sender = await world.sender();
    const { id } = await sender.send("one");
    for (let i = 0; i < 40; i += 1) await Promise.all([sender.get(id), sender.client.listTasks({})]);
    for (let i = 1; i < BURST; i += 1) await sender.send("more");
    await expect(sender.send("too many")).rejects.toMatchObject({ code: Code.ResourceExhausted });
    expect((await sender.get(id)).id).toBe(id);
  });

  it("SB-51 the defaults are the documented ones", async () => {
    const { parseConfig } = await import("../../src/config/load.ts");
    const { limits, streams } = parseConfig({});
    expect(limits).toMatchObject({
      send: { perSecond: 1, burst: 20 },
      perEndpoint: { perSecond: 20, burst: 40 },
      perAddress: { perSecond: 50, burst: 100 },
      bodyBytes: 262_144,
    });
    expect(streams).toMatchObject({ perEndpoint: 8, keepAliveSeconds: 15, buffer: 256 });
  });
});

describe("the general limits", () => {
  it("SB-52 reads and lists share the endpoint's limit, on all gateways, and another endpoint has its own", async () => {
    const small = await startWorld(
      { limits: { perAddress: MANY, perEndpoint: { perSecond: 0.1, burst: 10 }, send: MANY } },
      2,
    );
    try {
      const token = await small.gateway.vend();
      const [here, there] = small.gateways.map(({ url }) => senderOf(url, token)) as [Sender, Sender];
      const outcomes: string[] = [];
      for (let i = 0; i < 14; i += 1) {
        const call = i % 2 === 0 ? here.client.listTasks({}) : there.client.getTask({ id: "td_x" });
        outcomes.push(
          await call.then(
            () => "ok",
            (error) => Code[ConnectError.from(error).code] ?? "?",
          ),
        );
      }
      expect(outcomes.slice(0, 10)).not.toContain("ResourceExhausted");
      expect(outcomes.slice(10)).toEqual(Array.from({ length: 4 }, () => "ResourceExhausted"));
      const other = await small.sender();
      expect((await other.client.listTasks({})).totalSize).toBe(0);
    } finally {
      await small.stop();
    }
  });

  it("SB-52 an address is limited before its credential is looked at", async () => {
    const small = await startWorld({
      limits: { perAddress: { perSecond: 0.1, burst: 6 }, perEndpoint: MANY, send: MANY },
    });
    try {
      const statuses: number[] = [];
      for (let i = 0; i < 8; i += 1) {
        const response = await fetch(`${small.gateway.url}/tasks`, {
          headers: { authorization: "Bearer sbk_wrong" },
        });
        statuses.push(response.status);
        if (response.status === 429)
          expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      }
      expect(statuses).toEqual([...Array.from({ length: 6 }, () => 401), 429, 429]);
    } finally {
      await small.stop();
    }
  });
});

describe("bodies and headers", () => {
  const SECURITY = {
    "content-security-policy": "default-src 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "strict-origin-when-cross-origin",
  };

  it.each(["/message:send", "/", "/lf.a2a.v1.A2AService/SendMessage"])(
    "SB-53 on %s a body of 262 145 bytes is refused unparsed, declared or chunked",
    async (path) => {
      const token = await world.gateway.vend();
      for (const declared of [true, false]) {
        const socket = connect(world.gateway.port, "127.0.0.1");
        let answer = "";
        socket.on("data", (chunk) => {
          answer += chunk;
        });
        socket.on("error", () => {});
        const size = declared ? "Content-Length: 262145" : "Transfer-Encoding: chunked";
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n${size}\r\n\r\n`,
        );
        const chunk = Buffer.alloc(65_536, 32);
        if (declared) {
          for (let i = 0; i < 4; i += 1) socket.write(chunk);
          socket.write(" ");
        } else {
          for (let i = 0; i < 5; i += 1)
            socket.write(Buffer.concat([Buffer.from("10000\r\n"), chunk, Buffer.from("\r\n")]));
          socket.write("0\r\n\r\n");
        }
        for (let i = 0; i < 100 && !answer.includes("\r\n\r\n"); i += 1) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        expect(answer.split("\r\n", 1)[0], `${path} ${size}`).toMatch(
          path.includes("Service") ? / (413|429) / : / 413 /,
        );
        socket.destroy();
      }
      expect((await senderOf(world.gateway.url, token).client.listTasks({})).totalSize).toBe(0);
    },
  );

  it("SB-54 answers, errors and event streams carry the four security headers", async () => {
    const token = await world.gateway.vend();
    const { id } = await senderOf(world.gateway.url, token).send("x");
    const authorization = `Bearer ${token}`;
    const requests = [
      ["/tasks", { authorization }],
      ["/tasks", {}],
      ["/nothing-here", { authorization }],
      ["/.well-known/agent-card.json", {}],
      [`/tasks/${id}:subscribe`, { authorization }],
    ] as const;
    for (const [path, headers] of requests) {
      const abort = new AbortController();
      const response = await fetch(`${world.gateway.url}${path}`, {
        headers: { "a2a-version": "1.0", ...headers },
        signal: abort.signal,
      });
      for (const [name, value] of Object.entries(SECURITY)) {
        expect(response.headers.get(name), `${path} ${name}`).toContain(value);
      }
      if (path.endsWith(":subscribe")) expect(response.headers.get("content-type")).toMatch(/event-stream/);
      abort.abort();
    }
  });

  it("SB-55 one failure is the same on gRPC, Connect, JSON-RPC and REST, with ErrorInfo", async () => {
    const token = await world.gateway.vend();
    const call = { id: "td_never" };
    const grpc = await senderOf(world.gateway.url, token)
      .get("td_never")
      .catch((error) => ConnectError.from(error));
    expect(grpc).toMatchObject({ code: Code.NotFound, rawMessage: "task not found" });
    const connectAnswer = await post("/lf.a2a.v1.A2AService/GetTask", token, call);
    expect(connectAnswer.json).toMatchObject({ code: "not_found", message: "task not found" });
    const rpc = await post("/", token, { jsonrpc: "2.0", id: 1, method: "GetTask", params: call });
    expect(rpc.json).toMatchObject({ error: { code: -32001, message: "task not found" } });
    const rest = await fetch(`${world.gateway.url}/tasks/td_never`, {
      headers: { "a2a-version": "1.0", authorization: `Bearer ${token}` },
    });
    expect(rest.status).toBe(404);
    const restBody = (await rest.json()) as { error: { message: string; details: unknown[] } };
    const info = { reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" };
    expect(restBody.error).toMatchObject({ message: "task not found", details: [info] });
    expect((rpc.json.error as { data: unknown[] }).data).toMatchObject([info]);
    const detail = connectDetail(connectAnswer.json, "google.rpc.ErrorInfo");
    expect(fromBinary(ErrorInfoSchema, detail)).toMatchObject(info);
  });
});
