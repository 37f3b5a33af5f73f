/** Every handler of a whole gateway answers its own paths, whichever reader is asked first. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type OpenWopHost, startOpenWopHost } from "../../../examples/openwop-host/host.ts";
import { startTestGateway, type TestGateway, UNLIMITED } from "../../gateway.ts";
import { openwopAgent } from "../../openwop/setup.ts";
import { startTestRedis, type TestRedis } from "../../redis-server.ts";
import { rpc, Wire } from "./rig.ts";

let redis: TestRedis;
let host: OpenWopHost;
let lean: TestGateway;
let node: TestGateway;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  redis = await startTestRedis();
  host = await startOpenWopHost();
  const start = (leanHttp: boolean) =>
    startTestGateway({
      listen: {
        port: 0,
        leanHttp,
        cors: { origins: ["https://app.example"] },
      },
      redis: { url: redis.server.url },
      publicUrl: "http://gateway.example",
      push: { secretKey: Buffer.alloc(32, 7).toString("base64") },
      // Named like paths of others.
      agents: {
        default: {},
        "lf.a2a.v1.A2AService": {},
        runs: openwopAgent(host.url, "conformance-approval", { major: 1 }),
      },
      defaultAgent: "default",
      send: { maxWaitSeconds: 0 },
      openwop: { proxyAgent: "runs", sampleSeams: true },
    });
  lean = await start(true);
  node = await start(false);
  for (const agent of ["default", "lf.a2a.v1.A2AService", "runs"]) tokens[agent] = await lean.vend({ agent });
}, 60_000);

afterAll(async () => {
  await Promise.all([lean?.stop(), node?.stop()]);
  await host?.stop();
  await redis?.stop();
});

const PATHS = [
  "/",
  "/default",
  "/runs",
  "/runs/r1",
  "/runs/tasks",
  "/runs/tasks/t1",
  "/workflows",
  "/conformance/seams/sample/a2a/tasks/t1",
  "/v1/runs",
  "/v1/a2a/tasks/t1",
  "/v1/a2a/agent.json",
  "/v1/host/sample/a2a/tasks/t1",
  "/v1/tasks/t1",
  "/v1/card",
  "/default/v1/tasks/t1",
  "/tasks",
  "/tasks/t1",
  "/tasks/t1/",
  "/tasks/t1:cancel",
  "/tasks/.well-known/agent-card.json",
  "/default/tasks",
  "/default/extendedAgentCard",
  "/extendedAgentCard",
  "/message:send",
  "/default/message:send",
  "/mcp",
  "/mcp/default",
  "/mcp/tasks",
  "/mcp/message:send",
  "/a2a/friend-requests",
  "/a2a/friend-requests/x",
  "/a2a/tasks",
  "/healthz",
  "/healthz/tasks",
  "/console",
  "/metrics",
  "/.well-known/agent-card.json",
  "/default/.well-known/agent-card.json",
  "/.well-known/jwks.json",
  "/.well-known/openwop",
  "/lf.a2a.v1.A2AService",
  "/lf.a2a.v1.A2AService/tasks",
  "/lf.a2a.v1.A2AService/GetTask",
  "/baton.worker.v1.WorkerService/Claim",
  "/grpc.health.v1.Health/Check",
  "/nobody",
  "/nobody/tasks",
  "/x/y/z",
];

const BODIES: Record<string, string> = {
  empty: "",
  "JSON-RPC": rpc("GetTask", { id: "t1" }),
  "JSON-RPC 0.3": rpc("tasks/get", { id: "t1" }),
  REST: JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "a" }] } }),
};

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly lines: readonly string[];
}

async function ask({ port, url }: TestGateway, { method, path, body, lines }: Asked) {
  const agent = path.startsWith("/runs") || path.includes("a2a/tasks") ? "runs" : "default";
  const named = path.startsWith("/lf.") ? "lf.a2a.v1.A2AService" : agent;
  const head = [
    `${method} ${path} HTTP/1.1`,
    "Host: gateway.example",
    `Authorization: Bearer ${tokens[named]}`,
    ...lines,
    ...(body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  // Only the port and the scheme of a listener are looked at.
  const wire = await Wire.open({ port, url });
  const answer = await wire.call(`${head.join("\r\n")}\r\n\r\n${body}`);
  wire.socket.destroy();
  return answer;
}

/** Without ids that are made anew for each call, and times. */
function shown(answer: Awaited<ReturnType<typeof ask>>): object {
  const fresh = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z/g;
  const [status, ...rest] = [answer?.status, ...(answer?.headers ?? []), answer?.body ?? ""];
  return {
    status,
    rest: rest.map((text) => text.replace(fresh, "#").replace(/^(last-modified|etag): .*/, "$1")),
  };
}

async function same(asked: Asked): Promise<void> {
  const answers = [await ask(lean, asked), await ask(node, asked)];
  expect(shown(answers[0]), JSON.stringify(asked)).toEqual(shown(answers[1]));
}

it.each(PATHS)(
  "%s",
  async (path) => {
    for (const lines of [["A2A-Version: 1.0"], ["Origin: https://app.example"]]) {
      for (const method of ["GET", "DELETE"]) await same({ method, path, body: "", lines });
      for (const body of Object.values(BODIES)) {
        for (const type of ["application/json", "application/a2a+json; charset=utf-8", "text/plain"]) {
          await same({ method: "POST", path, body, lines: [...lines, `Content-Type: ${type}`] });
        }
      }
    }
  },
  30_000,
);

it("counts calls by the address that a trusted proxy names", async () => {
  const burst = 50;
  const limited = await startTestGateway({
    listen: { port: 0, trustedProxies: ["127.0.0.1"] },
    limits: { ...UNLIMITED, perAddress: { perSecond: 0.001, burst } },
  });
  const call = (address: string) =>
    ask(limited, { method: "GET", path: "/tasks/t1", body: "", lines: [`X-Forwarded-For: ${address}`] });
  try {
    const statuses: (string | undefined)[] = [];
    for (let count = 0; count <= burst; count += 1) statuses.push((await call("192.0.2.1"))?.status);
    expect(statuses.at(-1)).toBe("HTTP/1.1 429");
    // The credential is of another gateway, and is looked at after the address.
    expect((await call("192.0.2.2"))?.status).toBe("HTTP/1.1 401");
  } finally {
    await limited.stop();
  }
});
