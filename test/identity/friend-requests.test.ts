import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RedisConnection } from "../../src/store/connection.ts";
import type { TestGateway } from "../gateway.ts";
import { startTestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { startIssuer, type TestIssuer } from "./issuer.ts";
import { adminOf, ask, bodyOf, identityOf, pickUp } from "./people.ts";

let issuer: TestIssuer;
let folder: string;
let redis: TestRedis;
let direct: RedisConnection;
let gateway: TestGateway;

const keys = async () => ((await direct.run("", ["KEYS", "baton:{grants}:*"])) as unknown[]).map(String);
const edges = async () => (await keys()).filter((key) => key.includes(":grant:")).length;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-friends-"));
  issuer = await startIssuer();
  redis = await startTestRedis();
  direct = await redis.connect();
  gateway = await startTestGateway({
    redis: { url: redis.server.url },
    identity: await identityOf(issuer, folder),
    onboarding: { perAddress: { perSecond: 1000, burst: 1000 } },
    agents: { default: { queues: ["default", "reports"] }, hidden: {}, shown: { discoverable: true } },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await redis?.stop();
  await issuer?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  issuer.failWith = undefined;
  for (const key of await keys()) await direct.run("", ["DEL", key]);
});

describe("POST /a2a/friend-requests", () => {
  it("SB-61 SB-62 a request in order is pending, verified, and gives nothing", async () => {
    const { status, headers, json } = await ask(gateway, await bodyOf(issuer));
    expect([status, headers.get("cache-control")]).toEqual([202, "no-store"]);
    expect(json).toEqual({
      request_id: expect.stringMatching(/^fr_/),
      state: "pending",
      provenance_verified: true,
      pickup_token: expect.stringMatching(/^sbp_[A-Za-z0-9_-]{43}$/),
    });
    const { grants, endpoints } = adminOf(gateway);
    expect((await endpoints.listEndpoints({})).endpoints).toEqual([]);
    const { grant } = await grants.getGrant({ id: String(json.request_id) });
    expect(grant).toMatchObject({
      agent: "default",
      fromPersona: "alice's helper",
      fromHuman: { issuer: issuer.issuer, subject: "alice" },
      endpointId: "",
      reason: "to hand over reports",
      requested: { queues: ["default"], verbs: ["create_for"], streaming: true, push: false },
    });
  });

  const bad: [string, Record<string, unknown>, RegExp][] = [
    ["to_persona empty", { to_persona: "" }, /to_persona/],
    ["to_persona too long", { to_persona: "x".repeat(513) }, /to_persona/],
    ["from_persona blank", { from_persona: "  " }, /from_persona/],
    ["from_persona too long", { from_persona: "x".repeat(513) }, /from_persona/],
    ["33 queues", { requested_queues: Array(33).fill("q") }, /requested_queues/],
    ["33 verbs", { requested_verbs: Array(33).fill("create_for") }, /requested_verbs/],
    ["a queue too long", { requested_queues: ["x".repeat(129)] }, /requested_queues/],
    ["an empty queue", { requested_queues: [""] }, /requested_queues/],
    ["no queue", { requested_queues: [] }, /requested_queues/],
    ["a reason too long", { reason: "x".repeat(1025) }, /reason/],
    ["no verb", { requested_verbs: [] }, /requested_verbs/],
    ["only verbs that no friend gets", { requested_verbs: ["claim", "reject", "rm -rf"] }, /requested_verbs/],
  ];
  it.each(bad)(
    "SB-61 SB-63 %s is 400 for a proved person and 401 for anybody else",
    async (_, change, text) => {
      const refused = await ask(gateway, await bodyOf(issuer, change));
      expect([refused.status, refused.json]).toEqual([
        400,
        { error: { code: "invalid_request", message: expect.stringMatching(text) } },
      ]);
      const stranger = await ask(gateway, await bodyOf(issuer, { ...change, provenance: "x.y.z" }));
      expect([stranger.status, stranger.json]).toEqual([
        401,
        { error: { code: "unauthenticated", message: "the provenance does not verify" } },
      ]);
      expect(await edges()).toBe(0);
    },
  );

  it("SB-61 what is no request is 400 before anybody is asked about its sender", async () => {
    const before = issuer.asked.length;
    const body = await bodyOf(issuer, { provenance: "x.y.z" });
    const { from_persona: _, ...lacking } = body;
    for (const text of [
      "{",
      "[]",
      "null",
      { ...body, extra: 1 },
      lacking,
      { ...body, requested_verbs: "create_for" },
    ]) {
      const { status, json } = await ask(gateway, text);
      expect([status, (json.error as { code: string }).code]).toEqual([400, "invalid_request"]);
    }
    expect(issuer.asked).toHaveLength(before);
  });

  it("SB-61 SB-67 a hidden, an unknown and an odd persona are one answer, after the proof", async () => {
    const answers = [];
    for (const to_persona of ["hidden", "nobody", "../default", "__proto__"]) {
      const { status, json } = await ask(gateway, await bodyOf(issuer, { to_persona }));
      answers.push([status, json]);
      expect((await ask(gateway, await bodyOf(issuer, { to_persona, provenance: "x" }))).status).toBe(401);
    }
    expect(new Set(answers.map((each) => JSON.stringify(each)))).toEqual(
      new Set([JSON.stringify([404, { error: { code: "not_found", message: "no such persona" } }])]),
    );
    expect((await ask(gateway, await bodyOf(issuer, { to_persona: "shown" }))).status).toBe(202);
  });

  it("SB-61 other media types, large bodies and other methods", async () => {
    const text = JSON.stringify(await bodyOf(issuer));
    expect((await ask(gateway, text, { "content-type": "text/plain" })).json).toMatchObject({
      error: { code: "unsupported_media_type" },
    });
    expect((await ask(gateway, text, { "content-type": "application/json; charset=utf-8" })).status).toBe(
      202,
    );
    const large = await ask(gateway, JSON.stringify(await bodyOf(issuer, { reason: "x".repeat(65_536) })));
    expect([large.status, large.json]).toMatchObject([413, { error: { code: "payload_too_large" } }]);
    const other = await fetch(`${gateway.url}/a2a/friend-requests`);
    expect([other.status, other.headers.get("allow")]).toEqual([405, "POST"]);
    await other.body?.cancel();
  });

  it("SB-64 a live pair is 409, whatever else differs; another persona or person is another pair", async () => {
    expect((await ask(gateway, await bodyOf(issuer))).status).toBe(202);
    const again = await ask(
      gateway,
      await bodyOf(issuer, { reason: "please", requested_queues: ["reports"] }),
    );
    expect([again.status, again.json]).toMatchObject([409, { error: { code: "conflict" } }]);
    expect((await ask(gateway, await bodyOf(issuer, { from_persona: "other" }))).status).toBe(202);
    expect((await ask(gateway, await bodyOf(issuer, { to_persona: "shown" }))).status).toBe(202);
    const bob = { provenance: await issuer.token({ sub: "bob" }) };
    expect((await ask(gateway, await bodyOf(issuer, bob))).status).toBe(202);
    expect(await edges()).toBe(4);
  });

  it("SB-64 twenty at once for one pair: one edge", async () => {
    const body = await bodyOf(issuer);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(gateway, body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array(19).fill(409)]);
    expect(await edges()).toBe(1);
  });

  it("SB-64 the seventeenth live edge of a person is 429; ended ones do not count", async () => {
    const requests: string[] = [];
    for (let i = 0; i < 16; i++) {
      const { status, json } = await ask(gateway, await bodyOf(issuer, { from_persona: `p${i}` }));
      expect(status).toBe(202);
      requests.push(String(json.request_id));
    }
    const over = await ask(gateway, await bodyOf(issuer, { from_persona: "p16" }));
    expect([over.status, over.headers.get("retry-after"), over.json]).toMatchObject([
      429,
      "3600",
      { error: { code: "quota_exceeded" } },
    ]);
    // The quota goes before the pair, so even a pair that is live says nothing else.
    expect((await ask(gateway, await bodyOf(issuer, { from_persona: "p0" }))).status).toBe(429);
    const bob = { provenance: await issuer.token({ sub: "bob" }) };
    expect((await ask(gateway, await bodyOf(issuer, bob))).status).toBe(202);
    const { grants } = adminOf(gateway);
    await grants.denyGrant({ id: requests[0] ?? "" });
    expect((await ask(gateway, await bodyOf(issuer, { from_persona: "p16" }))).status).toBe(202);
    expect((await ask(gateway, await bodyOf(issuer, { from_persona: "p17" }))).status).toBe(429);
  });

  it("SB-63 verbs that no friend gets are dropped before anything is stored", async () => {
    const asked = ["create_for", "claim", "complete", "replay_webhook_event", "create_for"];
    const { json } = await ask(gateway, await bodyOf(issuer, { requested_verbs: asked }));
    const { grant } = await adminOf(gateway).grants.getGrant({ id: String(json.request_id) });
    expect(grant?.requested?.verbs).toEqual(["create_for"]);
  });

  it("SB-61 an issuer that cannot be asked is 503 and leaves nothing behind", async () => {
    const fresh = await startIssuer();
    fresh.failWith = 500;
    const other = await startTestGateway({
      redis: { url: redis.server.url },
      identity: await identityOf(fresh, folder),
    });
    const { status, json } = await ask(other, await bodyOf(fresh));
    expect([status, json]).toMatchObject([503, { error: { code: "provenance_unavailable" } }]);
    expect(await edges()).toBe(0);
    await other.stop();
    await fresh[Symbol.asyncDispose]();
  });

  it("SB-61 without an issuer nothing is offered: 503, and 400 for what is no request", async () => {
    const other = await startTestGateway({ redis: { url: redis.server.url } });
    const { status, json } = await ask(other, await bodyOf(issuer));
    expect([status, json]).toMatchObject([503, { error: { code: "provenance_unavailable" } }]);
    expect((await ask(other, "{")).status).toBe(400);
    await other.stop();
  });

  it("SB-61 one address asks five times a second, ten at once", async () => {
    const own = await startTestRedis();
    const strict = await startTestGateway({ redis: { url: own.server.url } });
    const answers = await Promise.all(Array.from({ length: 14 }, () => ask(strict, "{")));
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThanOrEqual(3);
    expect(answers.length - limited.length).toBeGreaterThanOrEqual(10);
    expect(limited[0]?.json).toMatchObject({ error: { code: "rate_limited" } });
    expect(Number(limited[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
    await strict.stop();
    await own.stop();
  });
});

describe("GET /a2a/friend-requests/{id}", () => {
  it("SB-66 an unknown request, a wrong and a missing token are one answer", async () => {
    const { json } = await ask(gateway, await bodyOf(issuer));
    const id = String(json.request_id);
    const token = String(json.pickup_token);
    const answers = [
      await pickUp(gateway, id, `sbp_${"A".repeat(43)}`),
      await pickUp(gateway, "fr_none", token),
      await pickUp(gateway, id, "nonsense"),
      await pickUp(gateway, id, await gateway.vend()),
    ].map(({ status, json: body, headers }) => [status, body, headers.get("www-authenticate")]);
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]?.[0]).toBe(401);
  });

  it("SB-66 before approval, and after a denial, it tells the state and nothing more", async () => {
    const { json } = await ask(gateway, await bodyOf(issuer));
    const id = String(json.request_id);
    const token = String(json.pickup_token);
    expect((await pickUp(gateway, id, token)).json).toEqual({ request_id: id, state: "pending" });
    await adminOf(gateway).grants.denyGrant({ id });
    expect((await pickUp(gateway, id, token)).json).toEqual({ request_id: id, state: "denied" });
  });

  it("SB-66 after approval it hands the credential over once, however many ask", async () => {
    const { json } = await ask(gateway, await bodyOf(issuer));
    const id = String(json.request_id);
    const token = String(json.pickup_token);
    await adminOf(gateway).grants.approveGrant({ id });
    const answers = await Promise.all(Array.from({ length: 10 }, () => pickUp(gateway, id, token)));
    const handed = answers.filter(({ status }) => status === 200);
    expect(handed).toHaveLength(1);
    expect(handed[0]?.headers.get("cache-control")).toBe("no-store");
    expect(handed[0]?.json).toEqual({
      request_id: id,
      state: "approved",
      credential: expect.stringMatching(/^sbk_/),
      agent: "default",
      url: gateway.url,
      granted: { queues: ["default"], verbs: ["create_for"], streaming: true, push: false },
    });
    for (const { status, json: body } of answers.filter((each) => each !== handed[0])) {
      expect([status, body]).toEqual([
        410,
        { error: { code: "gone", message: "the credential was picked up before" } },
      ]);
    }
  });
});
