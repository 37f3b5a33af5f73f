/** Browsers of other origins: refused by default, served on every binding where the operator says so (A10). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";

const APP = "https://app.example";

let closed: TestGateway;
let some: TestGateway;
let all: TestGateway;

beforeAll(async () => {
  closed = await startTestGateway();
  some = await startTestGateway({ listen: { port: 0, cors: { origins: [APP, "http://localhost:5173"] } } });
  all = await startTestGateway({ listen: { port: 0, cors: { origins: ["*"], maxAgeSeconds: 60 } } });
});
afterAll(async () => {
  for (const gateway of [closed, some, all]) await gateway?.stop();
});

const BINDINGS: readonly (readonly [name: string, path: string, type: string])[] = [
  ["HTTP+JSON", "/message:send", "application/json"],
  ["HTTP+JSON of 0.3", "/v1/message:send", "application/json"],
  ["JSON-RPC", "/", "application/json"],
  ["Connect", "/lf.a2a.v1.A2AService/SendMessage", "application/json"],
  ["gRPC-Web", "/lf.a2a.v1.A2AService/SendMessage", "application/grpc-web+proto"],
];

function preflight(gateway: TestGateway, path: string, origin: string): Promise<Response> {
  return fetch(`${gateway.url}${path}`, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,connect-protocol-version,content-type,x-grpc-web",
    },
  });
}

function names(response: Response, header: string): string[] {
  return (response.headers.get(header) ?? "").toLowerCase().split(/\s*,\s*/);
}

describe.each(BINDINGS)("%s", (_, path, type) => {
  it("A10 a preflight of a listed origin is granted what connect-web and A2A clients send", async () => {
    const answer = await preflight(some, path, APP);
    expect(answer.status).toBe(204);
    expect(answer.headers.get("access-control-allow-origin")).toBe(APP);
    expect(names(answer, "vary")).toContain("origin");
    expect(names(answer, "access-control-allow-methods")).toEqual(
      expect.arrayContaining(["get", "post", "delete"]),
    );
    expect(names(answer, "access-control-allow-headers")).toEqual(
      expect.arrayContaining([
        "authorization",
        "content-type",
        "a2a-version",
        "a2a-extensions",
        "a2a-last-event-id",
        "last-event-id",
        "connect-protocol-version",
        "connect-timeout-ms",
        "x-grpc-web",
        "x-user-agent",
        "grpc-timeout",
      ]),
    );
    expect(answer.headers.get("access-control-max-age")).toBe("600");
    expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
  });

  it("A10 the answer itself may be read, its trailers and positions too, also where it is an error", async () => {
    const answer = await fetch(`${some.url}${path}`, {
      method: "POST",
      headers: { origin: APP, "content-type": type, authorization: "Bearer wrong" },
      body: "{}",
    });
    expect(answer.headers.get("access-control-allow-origin")).toBe(APP);
    expect(names(answer, "access-control-expose-headers")).toEqual(
      expect.arrayContaining([
        "grpc-status",
        "grpc-message",
        "grpc-status-details-bin",
        "a2a-extensions",
        "a2a-stream-resume",
        "retry-after",
        "www-authenticate",
        "x-request-id",
      ]),
    );
  });

  it.each(["https://app.example.evil", "http://app.example", "null", "https://APP.example:444"])(
    "A10 no permission for the origin %s",
    async (origin) => {
      const answer = await preflight(some, path, origin);
      expect(answer.headers.has("access-control-allow-origin")).toBe(false);
      expect(answer.headers.has("access-control-allow-headers")).toBe(false);
      expect(names(answer, "vary")).toContain("origin");
    },
  );

  it("A10 off by default", async () => {
    const answer = await preflight(closed, path, APP);
    for (const name of answer.headers.keys()) expect(name).not.toMatch(/^access-control-/);
  });

  it("A10 with * every origin may", async () => {
    const answer = await preflight(all, path, "https://anybody.example");
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("access-control-max-age")).toBe("60");
  });
});

it("A10 a browser's call works from end to end, as connect-web makes it", async () => {
  const token = await some.vend();
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "x" }] };
  const answer = await fetch(`${some.url}/lf.a2a.v1.A2AService/SendMessage`, {
    method: "POST",
    headers: {
      origin: APP,
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "connect-protocol-version": "1",
      "a2a-extensions": "urn:baton:a2a:resumable-streams:v1",
    },
    body: JSON.stringify({ message, configuration: { returnImmediately: true } }),
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("access-control-allow-origin")).toBe(APP);
  expect(answer.headers.get("a2a-extensions")).toBe("urn:baton:a2a:resumable-streams:v1");
});

it("A2A-182 cards are for every origin, whatever is configured", async () => {
  for (const gateway of [closed, some, all]) {
    const answer = await fetch(`${gateway.url}/.well-known/agent-card.json`, {
      headers: { origin: "https://anybody.example" },
    });
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    await answer.text();
  }
});

it("A10 OPTIONS that is no preflight tells the methods of the path", async () => {
  const answer = await fetch(`${some.url}/tasks/x:cancel`, { method: "OPTIONS", headers: { origin: APP } });
  expect([answer.status, answer.headers.get("allow")]).toEqual([204, "POST, OPTIONS"]);
});
