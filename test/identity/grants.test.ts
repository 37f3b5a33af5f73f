import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { GrantState } from "../../gen/baton/admin/v1/grant_pb.js";
import { PushService } from "../../gen/baton/admin/v1/push_pb.js";
import { TodoState, WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import { A2AService, Role, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RedisConnection } from "../../src/store/connection.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { sendEverywhere } from "./bindings.ts";
import { everything } from "./everything.ts";
import { AUDIENCE, startIssuer, type TestIssuer } from "./issuer.ts";
import { adminOf, ask, befriend, bodyOf, identityOf, pickUp } from "./people.ts";

const ADMIN_AUDIENCE = `${AUDIENCE}/admin`;

let issuer: TestIssuer;
let folder: string;
let redis: TestRedis;
let direct: RedisConnection;
let gateway: TestGateway;
let replica: TestGateway;
let admin: ReturnType<typeof adminOf>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-grants-"));
  issuer = await startIssuer();
  redis = await startTestRedis();
  direct = await redis.connect();
  const document = async (pickupSeconds: number) => ({
    redis: { url: redis.server.url },
    identity: await identityOf(issuer, folder),
    onboarding: {
      perAddress: { perSecond: 1000, burst: 1000 },
      pickupSeconds,
      grantableVerbs: ["create_for", "list_todos"],
    },
    leases: { sweepSeconds: 0.1 },
    agents: {
      default: { queues: ["default", "reports"], defaultQueue: "default" },
      hers: { discoverable: true, owner: "hannah" },
    },
    admin: {
      port: 0,
      audience: ADMIN_AUDIENCE,
      people: [
        { name: "hannah", issuer: issuer.issuer, subject: "h" },
        { name: "ivan", issuer: issuer.issuer, subject: "i" },
      ],
    },
  });
  gateway = await startTestGateway(await document(604_800));
  replica = await startTestGateway(await document(1));
  admin = adminOf(gateway);
});
afterAll(async () => {
  await gateway?.stop();
  await replica?.stop();
  await redis?.stop();
  await issuer?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  const keys = ((await direct.run("", ["KEYS", "baton:{grants}:*"])) as unknown[]).map(String);
  for (const key of keys) await direct.run("", ["DEL", key]);
});

async function asked(change: Record<string, unknown> = {}) {
  const { status, json } = await ask(gateway, await bodyOf(issuer, change));
  expect(status).toBe(202);
  return { id: String(json.request_id), token: String(json.pickup_token) };
}

async function codeOf(call: Promise<unknown>): Promise<Code> {
  const error = ConnectError.from(
    await call.then(
      () => new Error("went through"),
      (thrown: unknown) => thrown,
    ),
  );
  return error.code;
}

const withToken = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const a2a = () => createClient(A2AService, createGrpcTransport({ baseUrl: gateway.url }));
const worker = () => createClient(WorkerService, createGrpcTransport({ baseUrl: gateway.url }));

function send(token: string, metadata: Record<string, string> = {}, messageId: string = randomUUID()) {
  const parts = [{ content: { case: "text" as const, value: "a report" } }];
  const message = { messageId, role: Role.USER, parts };
  return a2a().sendMessage(
    { message, metadata, configuration: { returnImmediately: true } },
    withToken(token),
  );
}

async function taskOf(sent: ReturnType<typeof send>) {
  const { payload } = await sent;
  if (payload.case !== "task") throw new Error("no task");
  return payload.value;
}

const people = (sub: string, change: Record<string, unknown> = {}) =>
  issuer.token({ sub, aud: ADMIN_AUDIENCE, ...change });

describe("the operator decides", () => {
  it("SB-62 both lists empty grants what was asked for", async () => {
    const { id } = await asked({
      requested_queues: ["default", "reports"],
      requested_verbs: ["create_for", "list_todos"],
    });
    const { grant } = await admin.grants.approveGrant({ id });
    expect(grant).toMatchObject({
      state: GrantState.APPROVED,
      granted: {
        queues: ["default", "reports"],
        verbs: ["create_for", "list_todos"],
        streaming: true,
        push: false,
      },
    });
    const { endpoint } = await admin.endpoints.getEndpoint({ id: grant?.endpointId ?? "" });
    expect(endpoint).toMatchObject({ agent: "default", scope: grant?.granted, credentialPrefix: "" });
  });

  it("SB-62 a part of what was asked for can be granted", async () => {
    const { id, token } = await asked({
      requested_queues: ["default", "reports"],
      requested_verbs: ["create_for", "list_todos"],
      requested_push: true,
    });
    await admin.grants.approveGrant({
      id,
      queues: ["reports"],
      verbs: ["create_for"],
      withoutStreaming: true,
      withoutPush: true,
    });
    const { json } = await pickUp(gateway, id, token);
    expect(json.granted).toEqual({
      queues: ["reports"],
      verbs: ["create_for"],
      streaming: false,
      push: false,
    });
    expect((await taskOf(send(String(json.credential)))).status?.state).toBe(TaskState.SUBMITTED);
    expect(await codeOf(send(String(json.credential), { queue: "default" }))).toBe(Code.PermissionDenied);
  });

  it.each<[string, { queues?: string[]; verbs?: string[] }]>([
    ["a queue more", { queues: ["default", "reports"], verbs: ["create_for"] }],
    ["a verb more", { queues: ["default"], verbs: ["create_for", "list_todos"] }],
    ["a verb that no friend gets", { queues: ["default"], verbs: ["reject"] }],
    ["a verb of workers", { queues: ["default"], verbs: ["create_for", "claim"] }],
    ["a word that is no verb", { queues: ["default"], verbs: ["*"] }],
    ["a queue that is none", { queues: ["*"], verbs: ["create_for"] }],
    ["no verb", { queues: ["default"], verbs: [] }],
    ["no queue", { queues: [], verbs: ["create_for"] }],
  ])("SB-62 SB-63 %s is refused and the request still waits", async (_, scope) => {
    const { id } = await asked();
    const before = (await admin.endpoints.listEndpoints({})).endpoints.length;
    expect(await codeOf(admin.grants.approveGrant({ id, ...scope }))).toBe(Code.InvalidArgument);
    expect((await admin.grants.getGrant({ id })).grant).toMatchObject({
      state: GrantState.PENDING,
      endpointId: "",
    });
    expect((await admin.endpoints.listEndpoints({})).endpoints).toHaveLength(before);
  });

  it("SB-62 a queue that the agent does not have cannot be granted although it was asked for", async () => {
    const { id } = await asked({ requested_queues: ["default", "secret"] });
    expect(await codeOf(admin.grants.approveGrant({ id }))).toBe(Code.InvalidArgument);
    const { grant } = await admin.grants.approveGrant({ id, queues: ["default"], verbs: ["create_for"] });
    expect(grant?.state).toBe(GrantState.APPROVED);
  });

  it("SB-62 each state takes its own decisions and no other", async () => {
    const { approveGrant, denyGrant, revokeGrant, reissuePickup, deleteGrant } = admin.grants;
    const pending = await asked();
    for (const call of [revokeGrant, reissuePickup, deleteGrant]) {
      expect(await codeOf(call({ id: pending.id }))).toBe(Code.Aborted);
    }
    await denyGrant({ id: pending.id });
    for (const call of [approveGrant, denyGrant, revokeGrant, reissuePickup]) {
      expect(await codeOf(call({ id: pending.id }))).toBe(Code.Aborted);
    }
    await deleteGrant({ id: pending.id });
    const next = await asked();
    await approveGrant({ id: next.id });
    for (const call of [approveGrant, denyGrant, deleteGrant]) {
      expect(await codeOf(call({ id: next.id }))).toBe(Code.Aborted);
    }
    await revokeGrant({ id: next.id });
    for (const call of [approveGrant, denyGrant, revokeGrant, reissuePickup]) {
      expect(await codeOf(call({ id: next.id }))).toBe(Code.Aborted);
    }
    for (const call of [
      approveGrant,
      denyGrant,
      revokeGrant,
      reissuePickup,
      deleteGrant,
      admin.grants.getGrant,
    ]) {
      expect(await codeOf(call({ id: "fr_none" }))).toBe(Code.NotFound);
    }
  });

  it("SB-62 of two decisions at once on two replicas one holds, and no endpoint is left over", async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await asked({ from_persona: `r${round}` });
      const before = (await admin.endpoints.listEndpoints({})).endpoints.length;
      const outcomes = await Promise.allSettled([
        admin.grants.approveGrant({ id }),
        adminOf(replica).grants.denyGrant({ id }),
        adminOf(replica).grants.approveGrant({ id }),
      ]);
      const done = outcomes.filter(({ status }) => status === "fulfilled");
      expect(done).toHaveLength(1);
      const { grant } = await admin.grants.getGrant({ id });
      const made = (await admin.endpoints.listEndpoints({})).endpoints.length - before;
      expect(made).toBe(grant?.state === GrantState.APPROVED ? 1 : 0);
    }
  });

  it("SB-64 lists by agent and state, newest first", async () => {
    const first = await asked({ from_persona: "a" });
    const second = await asked({ from_persona: "b", to_persona: "hers" });
    await admin.grants.denyGrant({ id: first.id });
    const ids = async (request: { agent?: string; states?: GrantState[] }) =>
      (await admin.grants.listGrants(request)).grants.map(({ id }) => id);
    expect(await ids({})).toEqual([second.id, first.id]);
    expect(await ids({ agent: "hers" })).toEqual([second.id]);
    expect(await ids({ states: [GrantState.DENIED] })).toEqual([first.id]);
    expect(await ids({ states: [GrantState.APPROVED] })).toEqual([]);
  });

  it("SB-64 a denied or revoked pair may ask again", async () => {
    const first = await asked();
    await admin.grants.denyGrant({ id: first.id });
    const second = await asked();
    await admin.grants.approveGrant({ id: second.id });
    expect((await ask(gateway, await bodyOf(issuer))).status).toBe(409);
    await admin.grants.revokeGrant({ id: second.id });
    await asked();
  });
});

describe("the friend", () => {
  it("SB-7 work that is handed over names its persona and the verb; the friend may do nothing else", async () => {
    const { credential } = await befriend(gateway, issuer);
    const task = await taskOf(send(credential));
    const drains = withToken(await gateway.vendWorker({ queues: ["default", "reports"] }));
    const { todo } = await worker().claim({ queue: "default" }, drains);
    expect(todo).toMatchObject({ id: task.id, source: "alice's helper", kind: "create_for" });
    expect(await codeOf(worker().claim({ queue: "default" }, withToken(credential)))).toBe(
      Code.PermissionDenied,
    );
    expect(await codeOf(worker().complete({ id: task.id }, withToken(credential)))).toBe(
      Code.PermissionDenied,
    );
    await worker().complete({ id: task.id }, drains);
    const plain = await taskOf(send(await gateway.vend()));
    const other = await worker().claim({ queue: "default" }, drains);
    expect(other.todo).toMatchObject({ id: plain.id, source: "", kind: "" });
    await worker().complete({ id: plain.id }, drains);
  });

  it("SB-7 SB-59 pending, denied, revoked and expired get one refusal on every binding", async () => {
    const pending = await asked({ from_persona: "pending" });
    const denied = await asked({ from_persona: "denied" });
    await admin.grants.denyGrant({ id: denied.id });
    const revoked = await befriend(gateway, issuer, { from_persona: "revoked" });
    await admin.grants.revokeGrant({ id: revoked.id });
    const soon = { expiresAt: timestampFromMs(Date.now() + 400) };
    const expired = await befriend(gateway, issuer, { from_persona: "expired" }, soon);
    const live = await befriend(gateway, issuer, { from_persona: "live" });
    expect(
      (await sendEverywhere(gateway.url, live.credential)).every(
        ({ status }) => status === 200 || status === "OK",
      ),
    ).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 600));
    const reference = await sendEverywhere(gateway.url, `sbk_${"A".repeat(43)}`);
    expect(new Set(reference.map(({ status }) => status))).toEqual(new Set([401, "Unauthenticated"]));
    for (const token of [pending.token, denied.token, revoked.credential, expired.credential]) {
      expect(await sendEverywhere(gateway.url, token)).toEqual(reference);
      expect(await sendEverywhere(replica.url, token)).toEqual(reference);
    }
  });

  it("SB-23 two friends with the same keys have two todos and see only their own", async () => {
    const one = await befriend(gateway, issuer, { from_persona: "one" });
    const two = await befriend(gateway, issuer, { from_persona: "two" });
    const key = { idempotencyKey: "same" };
    const messageId = "same-message";
    const first = await taskOf(send(one.credential, key, messageId));
    const second = await taskOf(send(two.credential, key, messageId));
    expect(second.id).not.toBe(first.id);
    expect((await taskOf(send(one.credential, key))).id).toBe(first.id);
    expect(await codeOf(a2a().getTask({ id: first.id }, withToken(two.credential)))).toBe(Code.NotFound);
    const { tasks } = await a2a().listTasks({}, withToken(two.credential));
    expect(tasks.map(({ id }) => id)).toEqual([second.id]);
    // The next friendship of the same pair starts afresh.
    await admin.grants.revokeGrant({ id: one.id });
    const again = await befriend(gateway, issuer, { from_persona: "one" });
    expect((await taskOf(send(again.credential, key))).id).not.toBe(first.id);
  });

  it("SB-27 SB-65 a revoked friendship ends its open work and nobody else's", async () => {
    const one = await befriend(gateway, issuer, { from_persona: "one" });
    const two = await befriend(gateway, issuer, { from_persona: "two" });
    const ended = await taskOf(send(one.credential));
    const kept = await taskOf(send(two.credential));
    const { deadLettered, grant } = await admin.grants.revokeGrant({ id: one.id });
    expect([deadLettered, grant?.state]).toEqual([1, GrantState.REVOKED]);
    const drains = withToken(await gateway.vendWorker({ queues: ["default"] }));
    expect((await worker().getTodo({ id: ended.id }, drains)).todo?.state).toBe(TodoState.FAILED);
    expect((await a2a().getTask({ id: kept.id }, withToken(two.credential))).status?.state).toBe(
      TaskState.SUBMITTED,
    );
    expect((await admin.grants.getGrant({ id: two.id })).grant?.state).toBe(GrantState.APPROVED);
  });

  it("SB-65 a friendship is for one agent and one direction: nothing follows for another", async () => {
    const one = await befriend(gateway, issuer, { requested_queues: ["default"], from_persona: "hers" });
    const back = await befriend(gateway, issuer, { to_persona: "hers", from_persona: "default" });
    const elsewhere = await sendEverywhere(gateway.url, one.credential, "/hers");
    expect(
      elsewhere.filter(({ binding }) => binding.startsWith("JSON-RPC")).map(({ status }) => status),
    ).toEqual([403, 403]);
    await admin.grants.revokeGrant({ id: one.id });
    expect((await taskOf(send(back.credential))).status?.state).toBe(TaskState.SUBMITTED);
  });

  it("SB-64 SB-65 an endpoint that ends by another way ends its friendship too", async () => {
    const revoked = await befriend(gateway, issuer, { from_persona: "one" });
    await admin.endpoints.revokeEndpoint({ id: revoked.endpointId });
    expect((await admin.grants.getGrant({ id: revoked.id })).grant?.state).toBe(GrantState.REVOKED);
    const soon = { expiresAt: timestampFromMs(Date.now() + 300) };
    const expired = await befriend(gateway, issuer, { from_persona: "two" }, soon);
    await expect
      .poll(async () => (await admin.grants.getGrant({ id: expired.id })).grant?.state, { timeout: 5000 })
      .toBe(GrantState.REVOKED);
    await asked({ from_persona: "one" });
    await asked({ from_persona: "two" });
  });
});

describe("the pickup", () => {
  it("SB-66 works on another replica than the approval's", async () => {
    const { id, token } = await asked();
    await adminOf(gateway).grants.approveGrant({ id });
    const { json } = await pickUp(replica, id, token);
    expect((await taskOf(send(String(json.credential)))).id).not.toBe("");
    expect((await admin.grants.getGrant({ id })).grant?.pickedUpAt).toBeDefined();
  });

  it("SB-66 is dead after its time, until the operator issues it anew", async () => {
    const { id, token } = await asked();
    await adminOf(replica).grants.approveGrant({ id });
    await new Promise((resolve) => setTimeout(resolve, 1200));
    const late = await pickUp(gateway, id, token);
    expect([late.status, late.json]).toMatchObject([410, { error: { code: "gone" } }]);
    const { pickupToken } = await admin.grants.reissuePickup({ id });
    expect((await pickUp(gateway, id, token)).status).toBe(401);
    const fresh = await pickUp(gateway, id, pickupToken);
    expect((await taskOf(send(String(fresh.json.credential)))).id).not.toBe("");
  });

  it("SB-66 issued anew, the credential that was fetched before is dead everywhere and its streams close", async () => {
    const { id, credential } = await befriend(gateway, issuer);
    const task = await taskOf(send(credential));
    const elsewhere = createClient(A2AService, createGrpcTransport({ baseUrl: replica.url }));
    const stream = elsewhere.subscribeToTask({ id: task.id }, withToken(credential))[Symbol.asyncIterator]();
    expect((await stream.next()).value?.payload.case).toBe("task");
    const end = codeOf(stream.next());
    const { pickupToken } = await admin.grants.reissuePickup({ id });
    expect(await end).toBe(Code.Unauthenticated);
    expect(await codeOf(send(credential))).toBe(Code.Unauthenticated);
    const { json } = await pickUp(gateway, id, pickupToken);
    // It is the same friendship: its work is still there.
    expect((await a2a().getTask({ id: task.id }, withToken(String(json.credential)))).id).toBe(task.id);
  });

  it("SB-57 SB-66 nothing that opens a door is in the store: neither pickup token nor credential", async () => {
    const { pickupToken, credential, id } = await befriend(gateway, issuer);
    const { pickupToken: second } = await admin.grants.reissuePickup({ id });
    const dump = await everything(direct);
    expect(dump).toContain(id);
    for (const secret of [pickupToken, credential, second, await issuer.token()]) {
      expect(dump).not.toContain(secret.slice(0, 20));
    }
  });
});

describe("people who operate", () => {
  it("SB-60 see and decide on what is theirs, and nothing else exists for them", async () => {
    const [hannah, ivan] = [adminOf(gateway, await people("h")), adminOf(gateway, await people("i"))];
    const mine = await asked({ to_persona: "hers" });
    const others = await asked();
    expect((await hannah.grants.listGrants({})).grants.map(({ id }) => id)).toEqual([mine.id]);
    expect((await ivan.grants.listGrants({})).grants).toEqual([]);
    const unknown = await refusalOf(hannah.grants.approveGrant({ id: "fr_none" }));
    expect(await refusalOf(hannah.grants.approveGrant({ id: others.id }))).toEqual(unknown);
    expect(await refusalOf(ivan.grants.denyGrant({ id: mine.id }))).toEqual(unknown);
    const { grant } = await hannah.grants.approveGrant({ id: mine.id });
    const { endpoint } = await hannah.endpoints.getEndpoint({ id: grant?.endpointId ?? "" });
    expect(endpoint?.owner).toBe("hannah");
    const foreign = await refusalOf(ivan.endpoints.getEndpoint({ id: "none" }));
    for (const call of [
      ivan.endpoints.getEndpoint,
      ivan.endpoints.revokeEndpoint,
      ivan.endpoints.deleteEndpoint,
    ]) {
      expect(await refusalOf(call({ id: endpoint?.id ?? "" }))).toEqual(foreign);
    }
    expect((await ivan.endpoints.listEndpoints({})).endpoints).toEqual([]);
    const { endpoints } = await hannah.endpoints.listEndpoints({});
    expect(endpoints.map(({ owner }) => owner)).not.toContain("operator");
    expect(endpoints.map(({ id }) => id)).toContain(endpoint?.id);
  });

  it("SB-60 vend for their own agents, in their own name", async () => {
    const hannah = adminOf(gateway, await people("h"));
    const scope = { queues: ["default"], verbs: ["create_for"] };
    const vended = await hannah.endpoints.createEndpoint({ name: "x", agent: "hers", scope });
    expect(vended.endpoint?.owner).toBe("hannah");
    for (const change of [
      { agent: "default" },
      { agent: "hers", owner: "ivan" },
      { agent: "hers", owner: "operator" },
    ]) {
      const call = hannah.endpoints.createEndpoint({ name: "x", scope, ...change });
      expect(await codeOf(call)).toBe(Code.InvalidArgument);
    }
  });

  it("SB-60 are named by the configuration; every other token is one answer", async () => {
    const refused = await refusalOf(adminOf(gateway, "nonsense").grants.listGrants({}));
    expect(refused.code).toBe(Code.Unauthenticated);
    const tokens = [
      await people("j"),
      await people("h", { aud: AUDIENCE }),
      await people("h", { exp: 1000 }),
      await gateway.vend(),
      `${await people("h")}x`,
    ];
    for (const token of tokens) {
      expect(await refusalOf(adminOf(gateway, token).grants.listGrants({}))).toEqual(refused);
    }
    await expect(
      ask(gateway, await bodyOf(issuer, { provenance: await people("h") })),
    ).resolves.toMatchObject({ status: 401 });
  });

  it("SB-60 have no part in what knows no owners", async () => {
    const token = await people("h");
    const push = createClient(PushService, createGrpcTransport({ baseUrl: gateway.adminUrl }));
    expect(await codeOf(push.listDeadLetters({}, withToken(token)))).toBe(Code.PermissionDenied);
  });
});

async function refusalOf(call: Promise<unknown>) {
  const error = ConnectError.from(
    await call.then(
      () => new Error("went through"),
      (thrown: unknown) => thrown,
    ),
  );
  return { code: error.code, message: error.rawMessage };
}
