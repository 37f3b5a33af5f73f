import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { GrantState } from "../../gen/baton/admin/v1/grant_pb.js";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { adminOf, ask, bodyOf, pickUp } from "./people.ts";
import { codeOf, type Rig, startRig } from "./rig.ts";

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig?.stop());
beforeEach(() => rig.clear());

describe("the operator decides", () => {
  it("SB-62 both lists empty grants what was asked for", async () => {
    const { id } = await rig.asked({
      requested_queues: ["default", "reports"],
      requested_verbs: ["create_for", "list_todos"],
    });
    const { grant } = await rig.admin.grants.approveGrant({ id });
    expect(grant).toMatchObject({
      state: GrantState.APPROVED,
      granted: {
        queues: ["default", "reports"],
        verbs: ["create_for", "list_todos"],
        streaming: true,
        push: false,
      },
    });
    const { endpoint } = await rig.admin.endpoints.getEndpoint({ id: grant?.endpointId ?? "" });
    expect(endpoint).toMatchObject({ agent: "default", scope: grant?.granted, credentialPrefix: "" });
  });

  it("SB-62 a part of what was asked for can be granted", async () => {
    const { id, token } = await rig.asked({
      requested_queues: ["default", "reports"],
      requested_verbs: ["create_for", "list_todos"],
      requested_push: true,
    });
    await rig.admin.grants.approveGrant({
      id,
      queues: ["reports"],
      verbs: ["create_for"],
      withoutStreaming: true,
      withoutPush: true,
    });
    const { json } = await pickUp(rig.gateway, id, token);
    expect(json.granted).toEqual({
      queues: ["reports"],
      verbs: ["create_for"],
      streaming: false,
      push: false,
    });
    expect((await rig.send(String(json.credential))).status?.state).toBe(TaskState.SUBMITTED);
    expect(await codeOf(rig.send(String(json.credential), { queue: "default" }))).toBe(Code.PermissionDenied);
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
    const { id } = await rig.asked();
    const before = (await rig.admin.endpoints.listEndpoints({})).endpoints.length;
    expect(await codeOf(rig.admin.grants.approveGrant({ id, ...scope }))).toBe(Code.InvalidArgument);
    expect((await rig.admin.grants.getGrant({ id })).grant).toMatchObject({
      state: GrantState.PENDING,
      endpointId: "",
    });
    expect((await rig.admin.endpoints.listEndpoints({})).endpoints).toHaveLength(before);
  });

  it("SB-62 a queue that the agent does not have cannot be granted although it was asked for", async () => {
    const { id } = await rig.asked({ requested_queues: ["default", "secret"] });
    expect(await codeOf(rig.admin.grants.approveGrant({ id }))).toBe(Code.InvalidArgument);
    const { grant } = await rig.admin.grants.approveGrant({ id, queues: ["default"], verbs: ["create_for"] });
    expect(grant?.state).toBe(GrantState.APPROVED);
  });

  it("SB-62 each state takes its own decisions and no other", async () => {
    const { approveGrant, denyGrant, revokeGrant, reissuePickup, deleteGrant } = rig.admin.grants;
    const pending = await rig.asked();
    for (const call of [revokeGrant, reissuePickup, deleteGrant]) {
      expect(await codeOf(call({ id: pending.id }))).toBe(Code.Aborted);
    }
    await denyGrant({ id: pending.id });
    for (const call of [approveGrant, denyGrant, revokeGrant, reissuePickup]) {
      expect(await codeOf(call({ id: pending.id }))).toBe(Code.Aborted);
    }
    await deleteGrant({ id: pending.id });
    const next = await rig.asked();
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
      rig.admin.grants.getGrant,
    ]) {
      expect(await codeOf(call({ id: "fr_none" }))).toBe(Code.NotFound);
    }
  });

  it("SB-62 of two decisions at once on two replicas one holds, and no endpoint is left over", async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await rig.asked({ from_persona: `r${round}` });
      const before = (await rig.admin.endpoints.listEndpoints({})).endpoints.length;
      const outcomes = await Promise.allSettled([
        rig.admin.grants.approveGrant({ id }),
        adminOf(rig.replica).grants.denyGrant({ id }),
        adminOf(rig.replica).grants.approveGrant({ id }),
      ]);
      const done = outcomes.filter(({ status }) => status === "fulfilled");
      expect(done).toHaveLength(1);
      const { grant } = await rig.admin.grants.getGrant({ id });
      const made = (await rig.admin.endpoints.listEndpoints({})).endpoints.length - before;
      expect(made).toBe(grant?.state === GrantState.APPROVED ? 1 : 0);
    }
  });

  it("SB-64 lists by agent and state, newest first", async () => {
    const first = await rig.asked({ from_persona: "a" });
    const second = await rig.asked({ from_persona: "b", to_persona: "hers" });
    await rig.admin.grants.denyGrant({ id: first.id });
    const ids = async (request: { agent?: string; states?: GrantState[] }) =>
      (await rig.admin.grants.listGrants(request)).grants.map(({ id }) => id);
    expect(await ids({})).toEqual([second.id, first.id]);
    expect(await ids({ agent: "hers" })).toEqual([second.id]);
    expect(await ids({ states: [GrantState.DENIED] })).toEqual([first.id]);
    expect(await ids({ states: [GrantState.APPROVED] })).toEqual([]);
  });

  it("SB-64 a denied or revoked pair may ask again", async () => {
    const first = await rig.asked();
    await rig.admin.grants.denyGrant({ id: first.id });
    const second = await rig.asked();
    await rig.admin.grants.approveGrant({ id: second.id });
    expect((await ask(rig.gateway, await bodyOf(rig.issuer))).status).toBe(409);
    await rig.admin.grants.revokeGrant({ id: second.id });
    await rig.asked();
  });
});
