import type { JsonObject } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AService as A2AServiceV03 } from "../../gen/a2a/v1/a2a_pb.js";
import { A2AService, type AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { ENDPOINT_URI } from "../../src/service/card-directory.ts";
import { printCard } from "../../src/transports/v03/translate/kind/card.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { adminOf } from "../identity/people.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({
    agents: {
      default: { queues: ["default", "deploys"], defaultQueue: "default" },
      off: { extendedCard: "off", discoverable: true },
      none: { extendedCard: "none", discoverable: true },
    },
  });
});
afterAll(() => gateway?.stop());

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const expiresAt = Date.now() + 3_600_000;

async function vend(
  change: { agent?: string; verbs?: string[]; queues?: string[]; streaming?: boolean } = {},
) {
  const { agent = "", verbs = ["create_for"], queues = ["default"], streaming = true } = change;
  const { credential } = await adminOf(gateway).endpoints.createEndpoint({
    name: "test",
    agent,
    scope: { queues, verbs, streaming },
    expiresAt: timestampFromMs(expiresAt),
  });
  return credential;
}

async function json(path: string, token: string | undefined, body?: unknown) {
  const response = await fetch(`${gateway.url}${path}`, {
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(path.startsWith("/v1/") ? {} : { "a2a-version": "1.0" }),
      ...(token === undefined ? {} : bearer(token)),
    },
  });
  return { response, value: (await response.json()) as JsonObject };
}

const rpc = (token: string | undefined, params?: unknown) =>
  json("/", token, {
    jsonrpc: "2.0",
    id: 1,
    method: "GetExtendedAgentCard",
    ...(params === undefined ? {} : { params }),
  });

const endpointOf = (card: JsonObject) => {
  const { extensions } = card.capabilities as { extensions: { uri: string; params: JsonObject }[] };
  return extensions.find(({ uri }) => uri === ENDPOINT_URI)?.params;
};

describe("the extended card", () => {
  it("A2A-113 SB-69 is the public card and what the caller may do, within its limits, until its end", async () => {
    const { value } = await json("/extendedAgentCard", await vend({ streaming: false }));
    const open = (await json("/.well-known/agent-card.json", undefined)).value;
    expect(value).toMatchObject({
      name: open.name,
      supportedInterfaces: open.supportedInterfaces,
      securitySchemes: open.securitySchemes,
      capabilities: { streaming: false, pushNotifications: false, extendedAgentCard: true },
    });
    expect((value.skills as { id: string }[]).map(({ id }) => id)).toEqual(["delegate-work"]);
    expect(endpointOf(value)).toEqual({
      queues: ["default"],
      verbs: ["create_for"],
      limits: {
        send: { perSecond: 100_000, burst: 100_000 },
        calls: { perSecond: 100_000, burst: 100_000 },
        streams: 8,
        bodyBytes: 262_144,
      },
      expiresAt: new Date(expiresAt).toISOString(),
    });
    expect(endpointOf(open)).toBeUndefined();
  });

  it("A2A-113 two callers see two cards, neither with anything of the other", async () => {
    const worker = await vend({ queues: ["deploys"], verbs: ["list_todos", "claim", "complete"] });
    const [one, two] = [await rpc(await vend()), await rpc(worker)];
    expect(endpointOf(one.value.result as JsonObject)?.queues).toEqual(["default"]);
    expect(endpointOf(two.value.result as JsonObject)?.queues).toEqual(["deploys"]);
    const skills = (two.value.result as { skills: { id: string }[] }).skills.map(({ id }) => id);
    expect(skills).toEqual(["process-work"]);
    for (const { response } of [one, two])
      expect(response.headers.get("cache-control")).toBe("private, no-store");
    const text = JSON.stringify(one.value);
    expect(text).not.toMatch(/sbk_|operator@|deploys/);
  });

  it("A2A-114 JSON-RPC takes params absent, null and {}", async () => {
    const credential = await vend();
    for (const params of [undefined, null, {}]) {
      expect((await rpc(credential, params)).value).toMatchObject({ result: { name: "Baton" } });
    }
  });

  it("A2A-113 is the same on every binding of both versions, and no cache keeps it", async () => {
    const credential = await vend();
    const reference = (await json("/extendedAgentCard", credential)).value;
    const headers = bearer(credential);
    for (const transport of [createGrpcTransport, createGrpcWebTransport, createConnectTransport]) {
      const client = createClient(
        A2AService,
        transport({ baseUrl: gateway.url, httpVersion: "1.1" } as never),
      );
      let cache: string | null = null;
      const card: AgentCard = await client.getExtendedAgentCard(
        {},
        {
          headers,
          onHeader: (received) => {
            cache = received.get("cache-control");
          },
        },
      );
      expect([printCard(card), cache]).toEqual([reference, "private, no-store"]);
    }
    expect((await rpc(credential)).value.result).toEqual(reference);
    const legacy = await json("/v1/card", credential);
    expect(legacy.value).toMatchObject({ name: "Baton", supportsAuthenticatedExtendedCard: true });
    expect(endpointOf(legacy.value)?.queues).toEqual(["default"]);
    const old = { jsonrpc: "2.0", id: 1, method: "agent/getAuthenticatedExtendedCard" };
    const answer = await fetch(gateway.url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(old),
    });
    const kind = ((await answer.json()) as { result: JsonObject }).result;
    expect([kind.name, kind.supportsAuthenticatedExtendedCard]).toEqual(["Baton", true]);
    expect(endpointOf(kind)).toEqual(endpointOf(reference));
    expect(answer.headers.get("cache-control")).toBe("private, no-store");
    const grpc = createClient(A2AServiceV03, createGrpcTransport({ baseUrl: gateway.url }));
    expect((await grpc.getAgentCard({}, { headers })).supportsAuthenticatedExtendedCard).toBe(true);
  });

  it("A2A-112 SB-69 without a valid credential the refusal tells nothing", async () => {
    const client = createClient(A2AService, createGrpcTransport({ baseUrl: gateway.url }));
    for (const token of [undefined, "nonsense", `sbk_${"A".repeat(43)}`]) {
      const answers = [await json("/extendedAgentCard", token), await rpc(token)];
      for (const { response, value } of answers) {
        expect([response.status, response.headers.get("www-authenticate")]).toEqual([
          401,
          'Bearer realm="baton"',
        ]);
        expect(JSON.stringify(value)).not.toMatch(/Baton|skills|queue|default/);
      }
      const headers = token === undefined ? {} : bearer(token);
      const refused = await client.getExtendedAgentCard({}, { headers }).catch((error: unknown) => error);
      expect(ConnectError.from(refused).code).toBe(Code.Unauthenticated);
    }
  });

  it("A2A-110 not offered: the card says so and the call is UnsupportedOperation", async () => {
    const { value } = await json("/off/.well-known/agent-card.json", undefined);
    expect((value.capabilities as JsonObject).extendedAgentCard).toBe(false);
    const seen = await rpc(await vend({ agent: "off" }));
    expect(seen.value).toMatchObject({ error: { code: -32004 } });
  });

  it("A2A-111 declared and not configured is ExtendedAgentCardNotConfigured", async () => {
    const { value } = await json("/none/.well-known/agent-card.json", undefined);
    expect((value.capabilities as JsonObject).extendedAgentCard).toBe(true);
    const seen = await rpc(await vend({ agent: "none" }));
    expect(seen.value).toMatchObject({ error: { code: -32007 } });
    expect(seen.response.headers.get("cache-control")).not.toMatch(/public/);
  });
});
