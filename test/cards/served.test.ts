import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentCard as SdkCard, verifyAgentCardSignature } from "@a2a-js/sdk";
import { DefaultAgentCardResolver } from "@a2a-js/sdk/client";
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { importJWK, type JWK } from "jose";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { VERBS } from "../../src/domain/caller.ts";
import { keysOf } from "../../src/service/card-key-source.ts";
import { verifyCard } from "../../src/service/card-signing.ts";
import { printCard } from "../../src/transports/v03/translate/kind/card.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";

const WELL_KNOWN = "/.well-known/agent-card.json";

let folder: string;
let redis: TestRedis;
let gateway: TestGateway;
let replica: TestGateway;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-cards-"));
  const files = [];
  for (const kid of ["old", "next"]) {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const file = join(folder, `${kid}.pem`);
    await writeFile(file, privateKey.export({ type: "pkcs8", format: "pem" }));
    files.push({ kid, file });
  }
  redis = await startTestRedis();
  const document = {
    redis: { url: redis.server.url },
    publicUrl: "https://agents.example",
    agents: {
      default: {},
      shown: { discoverable: true },
      hidden: {},
      secret: { discoverable: false },
      reader: { discoverable: true, verbs: VERBS.filter((verb) => verb !== "create_for") },
    },
    cards: { signing: files, maxAgeSeconds: 120 },
  };
  gateway = await startTestGateway(document);
  replica = await startTestGateway(document);
});
afterAll(async () => {
  await gateway?.stop();
  await replica?.stop();
  await redis?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function read(at: TestGateway, path = "", headers: Record<string, string> = { "a2a-version": "1.0" }) {
  const response = await fetch(`${at.url}${path}${WELL_KNOWN}`, { headers });
  const text = await response.text();
  return { response, text, json: (text === "" ? {} : JSON.parse(text)) as JsonObject };
}

const skills = (json: JsonObject) => (json.skills as { id: string }[]).map(({ id }) => id);

describe("the public card", () => {
  it("SB-67 is there for the default agent and those that are shown; hidden and unknown ones are one 404", async () => {
    for (const path of ["", "/default", "/shown"])
      expect((await read(gateway, path)).response.status).toBe(200);
    const missing = await Promise.all(
      ["/hidden", "/secret", "/nobody", "/%00", "/__proto__"].map(async (path) => {
        const { response, text } = await read(gateway, path);
        return JSON.stringify([response.status, text, response.headers.get("cache-control")]);
      }),
    );
    expect(new Set(missing).size).toBe(1);
    expect(missing[0]).toContain("404");
  });

  it("SB-67 a hidden agent serves those who hold its credential, and shows them its card", async () => {
    const credential = await gateway.vend({ agent: "hidden" });
    const response = await fetch(`${gateway.url}/hidden/extendedAgentCard`, {
      headers: { authorization: `Bearer ${credential}`, "a2a-version": "1.0" },
    });
    expect(response.status).toBe(200);
  });

  it("SB-67 skills follow from the verbs that the agent grants", async () => {
    expect(skills((await read(gateway)).json)).toEqual(["delegate-work", "process-work"]);
    expect(skills((await read(gateway, "/reader")).json)).toEqual(["process-work"]);
    const text = JSON.stringify((await read(gateway)).json);
    expect(text).not.toContain('"verbs"');
    await expect(gateway.vend({ agent: "reader", verbs: ["create_for"] })).rejects.toThrow(
      /not granted by the agent/,
    );
  });

  it("SB-67 is read-only", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
      const response = await fetch(`${gateway.url}${WELL_KNOWN}`, { method });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      await response.body?.cancel();
    }
    const head = await fetch(`${gateway.url}${WELL_KNOWN}`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(Number(head.headers.get("content-length"))).toBeGreaterThan(100);
  });

  it("SB-68 says what is really served: streaming, the extended card, push only where it is offered", async () => {
    expect((await read(gateway)).json.capabilities).toMatchObject({
      streaming: true,
      pushNotifications: false,
      extendedAgentCard: true,
    });
  });

  it("A2A-179 A2A-180 has validators that agree on every replica although signatures differ", async () => {
    const [one, two] = [await read(gateway), await read(replica)];
    expect(one.json.signatures).not.toEqual(two.json.signatures);
    const etag = one.response.headers.get("etag") ?? "";
    expect(two.response.headers.get("etag")).toBe(etag);
    expect(etag).toMatch(/^W\/"/);
    expect(one.response.headers.get("cache-control")).toBe("public, max-age=120");
    expect((await read(replica, "", { "a2a-version": "1.0", "if-none-match": etag })).response.status).toBe(
      304,
    );
    const other = await read(gateway, "", {});
    expect(other.response.headers.get("etag")).not.toBe(etag);
    expect((await read(gateway, "/shown")).response.headers.get("etag")).not.toBe(etag);
  });

  it("A2A-180 If-Modified-Since answers 304 from the time on, and counts for nothing beside If-None-Match", async () => {
    const modified = (await read(gateway)).response.headers.get("last-modified") ?? "";
    const ask = (headers: Record<string, string>) => read(gateway, "", { "a2a-version": "1.0", ...headers });
    const seen = await ask({ "if-modified-since": modified });
    expect([seen.response.status, seen.text]).toEqual([304, ""]);
    expect(seen.response.headers.get("etag")).not.toBeNull();
    const before = new Date(Date.parse(modified) - 1000).toUTCString();
    expect((await ask({ "if-modified-since": before })).response.status).toBe(200);
    expect((await ask({ "if-modified-since": "yesterday" })).response.status).toBe(200);
    expect((await ask({ "if-modified-since": modified, "if-none-match": '"x"' })).response.status).toBe(200);
  });

  it("A2A-181 has nothing of the inside in it", async () => {
    const { text } = await read(gateway);
    expect(text).not.toMatch(/redis|sbk_|endpointId|owner|hidden|secret|perSecond/i);
  });
});

describe("its signatures", () => {
  const keySet = async () => {
    const response = await fetch(`${gateway.url}/.well-known/jwks.json`);
    return { response, keys: keysOf(await response.json()) };
  };

  it("A2A-185 A2A-189 A2A-190 verify with the published keys, both of them, in the 1.0 and the hybrid shape", async () => {
    const { response, keys } = await keySet();
    expect(response.headers.get("content-type")).toBe("application/jwk-set+json");
    expect(keys.map(({ kid }) => kid)).toEqual(["old", "next"]);
    for (const { kty, d } of keys) expect([kty, d]).toEqual(["EC", undefined]);
    for (const headers of [{ "a2a-version": "1.0" }, {}] as Record<string, string>[]) {
      const { json } = await read(gateway, "", headers);
      const card = printCard(fromJson(AgentCardSchema, json, { ignoreUnknownFields: true }));
      const verdicts = await verifyCard(card, async (kid) => keys.find((key) => key.kid === kid));
      expect(new Set(verdicts.map(({ kid, valid }) => `${kid} ${valid}`))).toEqual(
        new Set(["old true", "next true"]),
      );
    }
    const { json } = await read(gateway, "", { "a2a-version": "0.3" });
    expect(json).not.toHaveProperty("signatures");
  });

  it("A2A-190 are accepted by the official SDK's client as it fetches the card", async () => {
    vi.spyOn(console, "debug").mockImplementation(() => {});
    const { keys } = await keySet();
    const retrieve = async (wanted: string) => {
      const jwk = keys.find(({ kid }) => kid === wanted && kid !== "old");
      if (jwk === undefined) throw new Error("unknown key");
      return importJWK(jwk as JWK, "ES256") as never;
    };
    const resolver = new DefaultAgentCardResolver();
    // As JSON: of a parsed card, SDK 1.3.0 computes bytes that leave the security schemes out.
    const card = SdkCard.toJSON(await resolver.resolve(gateway.url)) as SdkCard;
    await expect(verifyAgentCardSignature(retrieve)(card)).resolves.toBeUndefined();
    await expect(verifyAgentCardSignature(retrieve)({ ...card, name: "Evil" })).rejects.toThrow();
  });

  it("A2A-185 a key that cannot be used keeps the gateway from starting, with a sentence", async () => {
    for (const signing of [
      [{ kid: "k", file: join(folder, "missing.pem") }],
      [{ kid: "k", env: "BATON_TEST_NO_SUCH_KEY" }],
      [{ kid: "k", file: join(folder, "old.pem"), algorithm: "RS256" }],
      [{ kid: "k" }],
      [
        { kid: "k", file: join(folder, "old.pem") },
        { kid: "k", file: join(folder, "next.pem") },
      ],
    ]) {
      await expect(
        startTestGateway({ redis: { url: redis.server.url }, cards: { signing } }),
      ).rejects.toThrow(/card key|one of file and env|same kid/);
    }
  });

  it("A2A-184 without keys nothing is signed and no keys are served", async () => {
    const plain = await startTestGateway({ redis: { url: redis.server.url } });
    const { json, response } = await read(plain);
    expect(json).not.toHaveProperty("signatures");
    expect(response.headers.get("etag")).toMatch(/^"/);
    expect((await fetch(`${plain.url}/.well-known/jwks.json`)).status).not.toBe(200);
    await plain.stop();
  });
});
