/** What the pass-through lets across: in front of a host of either major, in processes of their own. */
import { randomUUID } from "node:crypto";
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FAULT_TEXT } from "../../examples/openwop-host/faults.ts";
import { type GatewayProcess, type HostProcess, startGatewayProcess, startHostProcess } from "./processes.ts";
import { type Json, RpcClient } from "./rpc.ts";
import { openwopAgent } from "./setup.ts";

const SECRETS = {
  cookie: "session=cookie-secret",
  dpop: "dpop-secret",
  "x-api-key": "api-key-secret",
  "proxy-authorization": "Basic proxy-secret",
  "x-forwarded-authorization": "forwarded-secret",
  baggage: "user=baggage-secret",
  tracestate: "vendor=state-secret",
  traceparent: "trace-secret",
  "idempotency-key": "idempotency-secret",
};
const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe.each([1, 2] as const)("before a host of major %i", (major) => {
  let host: HostProcess;
  let gateway: GatewayProcess;
  let owner: RpcClient;
  let stranger: RpcClient;
  let elsewhere: string;
  const prefix = major === 1 ? "/v1" : "";

  beforeAll(async () => {
    host = await startHostProcess();
    gateway = await startGatewayProcess({
      agents: {
        fronted: openwopAgent(host.url, "conformance-approval", { major }),
        other: openwopAgent(host.url, "journey", { major }),
      },
      defaultAgent: "fronted",
      openwop: { proxyAgent: "fronted" },
    });
    owner = new RpcClient(gateway.url, await gateway.vend("fronted"));
    stranger = new RpcClient(gateway.url, await gateway.vend("fronted"));
    elsewhere = await gateway.vend("other");
  }, 60_000);
  afterAll(async () => {
    await gateway?.stop();
    await host?.stop();
  });

  /** By node:http, which sends a path as it is: fetch would tidy it up. */
  function driver(
    method: string,
    path: string,
    options: {
      readonly token?: string;
      readonly headers?: Record<string, string>;
      readonly body?: Json;
    } = {},
  ): Promise<{ status: number; text: string; headers: NodeJS.Dict<string | string[]> }> {
    const { token = owner.token, headers = {}, body } = options;
    const { hostname, port } = new URL(gateway.url);
    return new Promise((resolve, reject) => {
      const sent = httpRequest({ hostname, port, method, path }, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => {
          text += chunk.toString();
        });
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, text, headers: response.headers }),
        );
      });
      sent.on("error", reject);
      sent.setHeader("authorization", `Bearer ${token}`);
      sent.setHeader("content-type", "application/json");
      if (major === 2) sent.setHeader("openwop-version", "2.0");
      for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
  const runPath = (id: string) => `${prefix}/runs/${encodeURIComponent(id)}`;
  const recorded = async (from = 0): Promise<Json[]> => (await host.control("requests")).slice(from);

  /** Every route that the host has, with a run of its own where it changes one. */
  async function everyRoute(headers: Record<string, string>) {
    const waiting = (await owner.start()).id;
    const canceled = (await owner.start()).id;
    const ended = (await owner.start()).id;
    await owner.decide(ended, { action: "accept" });
    await owner.until(ended, "TASK_STATE_COMPLETED");
    const create = { workflowId: "echo", inputs: { prompt: "x" } };
    const calls: [string, string, Json?][] = [
      ["GET", "/.well-known/openwop"],
      ["POST", `${prefix}/runs`, create],
      ["GET", runPath(waiting)],
      ["GET", `${runPath(ended)}/events`],
      ["GET", `${runPath(ended)}/events/poll?timeout=1`],
      ["POST", `${runPath(ended)}:fork`, { mode: "replay" }],
      ["GET", `${runPath(ended)}/artifacts/none`],
      ["POST", `${runPath(waiting)}/interrupts/review`, { resumeValue: { action: "accept" } }],
      ["POST", `${runPath(canceled)}/cancel`, { reason: "x" }],
      ["GET", `${prefix}/workflows/echo`],
      ...(major === 2 ? [["GET", "/runs"] as [string, string]] : []),
    ];
    const answers = [];
    for (const [method, path, body] of calls) {
      answers.push({ method, path, ...(await driver(method, path, { headers, body })) });
    }
    return answers;
  }

  it("OW-59 OW-60 no credential or header of a caller reaches the host, on any route", async () => {
    const from = (await recorded()).length;
    const answers = await everyRoute(SECRETS);
    for (const { method, path, status, text } of answers) {
      if (!path.endsWith("/artifacts/none"))
        expect(status, `${method} ${path} ${text.slice(0, 200)}`).toBeLessThan(300);
    }
    const seen = await recorded(from);
    for (const part of [
      "interrupts",
      "fork",
      "cancel",
      "poll",
      "artifacts",
      "workflows",
      "openwop",
      "events",
    ])
      expect(
        seen.some(({ path }) => path.includes(part)),
        part,
      ).toBe(true);
    const text = JSON.stringify(seen);
    expect(text).not.toMatch(/-secret|cookie|dpop|x-api-key|baggage|sbk_/i);
    for (const token of [owner.token, stranger.token, elsewhere]) expect(text).not.toContain(token);
    for (const { headers } of seen) {
      expect(["Bearer host-key-acme", undefined]).toContain(headers.authorization);
      expect([undefined, "2.0"]).toContain(headers["openwop-version"]);
    }
  }, 30_000);

  it("OW-60 a well-formed trace context goes along", async () => {
    const from = (await recorded()).length;
    await driver("GET", `${prefix}/workflows/echo`, {
      headers: { traceparent: TRACE, tracestate: "vendor=1" },
    });
    expect((await recorded(from))[0].headers).toMatchObject({ traceparent: TRACE, tracestate: "vendor=1" });
  });

  it("OW-59 callers who share the host's credential do not share idempotency keys", async () => {
    const body = { workflowId: "echo", inputs: { prompt: "same" } };
    const headers = { "idempotency-key": `key-${randomUUID()}` };
    const runIds = [];
    for (const token of [owner.token, owner.token, stranger.token])
      runIds.push(JSON.parse((await driver("POST", `${prefix}/runs`, { token, headers, body })).text).runId);
    expect(runIds[1]).toBe(runIds[0]);
    expect(runIds[2]).not.toBe(runIds[0]);
  });

  it("OW-35 no text of the host's errors crosses: its own refusals, and faults on each route", async () => {
    const { id } = await owner.start();
    const refused = [
      await driver("GET", runPath(`run_${"u".repeat(22)}`)),
      await driver("POST", `${prefix}/runs`, { body: { workflowId: 7 } }),
      await driver("POST", `${runPath(id)}:fork`, { body: { mode: "sideways" } }),
      await driver("POST", `${runPath(id)}/interrupts/nowhere`, { body: { resumeValue: {} } }),
      await driver("GET", `${runPath(id)}/events?streamMode=odd`),
    ];
    const codes = refused.map(({ status, text }) => [status, JSON.parse(text).error]);
    expect(codes).toEqual([
      [404, "not_found"],
      [400, "validation_error"],
      [400, "validation_error"],
      [404, "interrupt_not_found"],
      [400, "unsupported_stream_mode"],
    ]);
    expect(JSON.parse(refused[4]?.text ?? "").details).toEqual({ supported: ["updates"] });
    const routes: [string, string, string, Json?][] = [
      ["create", "POST", `${prefix}/runs`, { workflowId: "echo", inputs: {} }],
      ["read", "GET", runPath(id)],
      ["events", "GET", `${runPath(id)}/events`],
      ["poll", "GET", `${runPath(id)}/events/poll?timeout=1`],
      ["cancel", "POST", `${runPath(id)}/cancel`, {}],
      ["resolve", "POST", `${runPath(id)}/interrupts/review`, { resumeValue: {} }],
      ["fork", "POST", `${runPath(id)}:fork`, { mode: "replay" }],
      ["artifact", "GET", `${runPath(id)}/artifacts/a`],
      ["workflow", "GET", `${prefix}/workflows/echo`],
      ...(major === 2 ? [["list", "GET", "/runs"] as [string, string, string]] : []),
    ];
    for (const [route, method, path, body] of routes) {
      for (const status of [403, 429, 500, 503]) {
        await host.control("clear");
        // The follower of the run may take some of them.
        await host.control("fault", { route, kind: "status", status, times: 50, retryAfterSeconds: 7 });
        const answer = await driver(method, path, { body });
        expect(answer.status, route).toBe(status);
        expect(answer.headers["retry-after"]).toBe("7");
        refused.push(answer);
      }
      await host.control("clear");
    }
    for (const { text } of refused) {
      expect(Object.keys(JSON.parse(text)).sort()).toEqual(["details", "error", "message"]);
      expect(text).not.toContain(FAULT_TEXT);
      expect(text).not.toMatch(/no such run|workflowId is|unknown mode|host-key/);
    }
  }, 60_000);

  it("OW-26 no spelling of a path reaches a run of somebody else's, or another route of the host", async () => {
    const { id } = await owner.start();
    const from = (await recorded()).length;
    const encoded = encodeURIComponent(id);
    const any = "x".repeat(22);
    const paths = [
      runPath(id),
      `${prefix}/runs/${any}/../${encoded}`,
      `${prefix}/runs/${any}/%2e%2e/${encoded}`,
      `${prefix}/runs/${any}\\..\\${encoded}`,
      `${prefix}/workflows/../runs/${encoded}`,
      `${prefix}/runs/${encodeURIComponent(encoded)}%25`,
      `${runPath(id)}%3Acancel`,
      `${prefix}/runs/../../_control/requests`,
      `${prefix}/runs/..%2F..%2F_control`,
      `${prefix}/workflows/..%2F..%2F_control`,
      ...(major === 2 ? [`/runs/${id.replace("/", "~2F")}`, `/runs/${id.replace("/", "%7E2F")}`] : []),
    ];
    for (const path of paths) {
      const { status, text } = await driver("GET", path, { token: stranger.token });
      expect(status, `${path} ${text}`).toBe(404);
      expect(text).not.toContain("waiting-approval");
    }
    const odd = (await recorded(from)).filter(({ path }) => /_control|\.\.|%25|%3A/.test(path));
    expect(odd).toEqual([]);
    expect((await driver("POST", `${runPath(id)}/cancel`, { token: stranger.token, body: {} })).status).toBe(
      404,
    );
    expect((await owner.task(id)).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  });

  // A host of major 1 has no list.
  if (major === 2) {
    it("OW-25 the list of runs leaves out those whose tasks are somebody else's", async () => {
      const { id } = await owner.start();
      const listed = async (token: string) =>
        JSON.parse((await driver("GET", "/runs", { token })).text).runs.map(({ runId }: Json) => runId);
      expect(await listed(owner.token)).toContain(id);
      expect(await listed(stranger.token)).not.toContain(id);
    });
  }

  it("OW-58 an endpoint of another agent, and nobody, get nothing", async () => {
    expect((await driver("GET", `${prefix}/workflows/echo`, { token: elsewhere })).status).toBe(403);
    expect((await driver("GET", `${prefix}/workflows/echo`, { token: "sbk_wrong" })).status).toBe(401);
  });
});
