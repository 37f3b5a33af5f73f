/** Agent cards: the well-known one and the extended one. */
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type Scenario, scenario } from "../scenario.ts";

const fetchCard = async (base: string, tenant = "", headers: Record<string, string> = {}) =>
  fetch(`${base}${tenant}/.well-known/agent-card.json`, { headers: { "a2a-version": "1.0", ...headers } });

export const CARD: readonly Scenario[] = [
  scenario(
    "A2A-110 FR-59 without an extended card the operation is UnsupportedOperation",
    async ({ peer, refused }) => {
      const plain = await peer({ agent: "plain" });
      await refused(plain.call("GetExtendedAgentCard", {}), "UnsupportedOperation");
    },
  ),

  scenario(
    "A2A-111 a declared extended card that is not configured is ExtendedAgentCardNotConfigured",
    async ({ peer, refused }) => {
      const bare = await peer({ agent: "bare" });
      await refused(bare.call("GetExtendedAgentCard", {}), "ExtendedAgentCardNotConfigured");
    },
  ),

  scenario(
    "A2A-113 the extended card is the caller's own, and no cache keeps it",
    async ({ alice, peer }) => {
      const mine = await alice.call("GetExtendedAgentCard", {});
      const other = await (await peer({ streaming: false })).call("GetExtendedAgentCard", {});
      expect(mine.headers.get("cache-control")).toBe("private, no-store");
      expect([mine, other].map(({ message }) => message.capabilities?.streaming)).toEqual([true, false]);
      expect(mine.message.skills.map(({ id }) => id)).toEqual(["delegate-work"]);
    },
  ),

  scenario("A2A-112 SB-69 the extended card needs a credential", async ({ alice, refused }) => {
    const seen = await refused(
      alice.with({ token: null }).call("GetExtendedAgentCard", {}),
      "Unauthenticated",
    );
    expect(seen.metadata).toEqual({});
  }),

  scenario(
    "A2A-177 A2A-178 SB-68 this transport's interface stands on the card, with what it can do",
    async (world) => {
      const { gateway, kind, alice } = world;
      const response = await fetchCard(gateway.url);
      expect(response.status).toBe(200);
      const card = fromJson(AgentCardSchema, (await response.json()) as JsonObject);
      const binding = { grpc: "GRPC", jsonrpc: "JSONRPC", rest: "HTTP+JSON" }[kind.name];
      const bindings = card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === "1.0");
      expect(bindings.map(({ protocolBinding }) => protocolBinding).sort()).toEqual([
        "GRPC",
        "HTTP+JSON",
        "JSONRPC",
      ]);
      if (binding !== undefined) {
        const [served] = bindings.filter(({ protocolBinding }) => protocolBinding === binding);
        expect(served?.url).toContain(new URL(gateway.url).host);
      }
      expect(card.capabilities?.streaming).toBe(true);
      expect(Object.keys(card.securitySchemes)).not.toEqual([]);
      const watch = await alice.stream();
      await watch.task();
      watch.close();
    },
    { versions: ["1.0"] },
  ),

  scenario("A2A-181 SB-67 each agent has its own card, and an unknown agent none", async ({ gateway }) => {
    const second = (await (await fetchCard(gateway.url, "/second")).json()) as JsonObject;
    const interfaces = second.supportedInterfaces as JsonObject[];
    for (const { tenant, protocolVersion } of interfaces) {
      if (protocolVersion === "1.0") expect(tenant).toBe("second");
    }
    expect((await fetchCard(gateway.url, "/nobody")).status).toBe(404);
    const text = JSON.stringify(second);
    expect(text).not.toMatch(/redis|token|credential_prefix/i);
  }),

  scenario(
    "A2A-179 A2A-180 a card has validators and answers a conditional fetch with 304",
    async ({ gateway }) => {
      const first = await fetchCard(gateway.url);
      const etag = first.headers.get("etag") ?? "";
      expect(etag).not.toBe("");
      expect(first.headers.get("cache-control")).toMatch(/max-age=\d+/);
      expect(first.headers.get("access-control-allow-origin"), "A2A-182").toBe("*");
      for (const tag of [etag, `"x", W/${etag.replace(/^W\//, "")}`, "*"]) {
        const again = await fetchCard(gateway.url, "", { "if-none-match": tag });
        expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, etag, ""]);
      }
      expect((await fetchCard(gateway.url, "", { "if-none-match": '"other"' })).status).toBe(200);
    },
  ),
];
