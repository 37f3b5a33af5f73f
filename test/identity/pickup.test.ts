import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { everything } from "./everything.ts";
import { adminOf, befriend, pickUp } from "./people.ts";
import { codeOf, type Rig, startRig, withToken } from "./rig.ts";

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig?.stop());
beforeEach(() => rig.clear());

describe("the pickup", () => {
  it("SB-66 works on another replica than the approval's", async () => {
    const { id, token } = await rig.asked();
    await adminOf(rig.gateway).grants.approveGrant({ id });
    const { json } = await pickUp(rig.replica, id, token);
    expect((await rig.send(String(json.credential))).id).not.toBe("");
    expect((await rig.admin.grants.getGrant({ id })).grant?.pickedUpAt).toBeDefined();
  });

  it("SB-66 is dead after its time, until the operator issues it anew", async () => {
    const { id, token } = await rig.asked();
    await adminOf(rig.replica).grants.approveGrant({ id });
    await new Promise((resolve) => setTimeout(resolve, 1200));
    const late = await pickUp(rig.gateway, id, token);
    expect([late.status, late.json]).toMatchObject([410, { error: { code: "gone" } }]);
    const { pickupToken } = await rig.admin.grants.reissuePickup({ id });
    expect((await pickUp(rig.gateway, id, token)).status).toBe(401);
    const fresh = await pickUp(rig.gateway, id, pickupToken);
    expect((await rig.send(String(fresh.json.credential))).id).not.toBe("");
  });

  it("SB-66 issued anew, the credential that was fetched before is dead everywhere and its streams close", async () => {
    const { id, credential } = await befriend(rig.gateway, rig.issuer);
    const task = await rig.send(credential);
    const elsewhere = createClient(A2AService, createGrpcTransport({ baseUrl: rig.replica.url }));
    const stream = elsewhere.subscribeToTask({ id: task.id }, withToken(credential))[Symbol.asyncIterator]();
    expect((await stream.next()).value?.payload.case).toBe("task");
    const end = codeOf(stream.next());
    const { pickupToken } = await rig.admin.grants.reissuePickup({ id });
    expect(await end).toBe(Code.Unauthenticated);
    expect(await codeOf(rig.send(credential))).toBe(Code.Unauthenticated);
    const { json } = await pickUp(rig.gateway, id, pickupToken);
    // It is the same friendship: its work is still there.
    expect((await rig.a2a.getTask({ id: task.id }, withToken(String(json.credential)))).id).toBe(task.id);
  });

  it("SB-57 SB-66 nothing that opens a door is in the store: neither pickup token nor credential", async () => {
    const { pickupToken, credential, id } = await befriend(rig.gateway, rig.issuer);
    const { pickupToken: second } = await rig.admin.grants.reissuePickup({ id });
    const dump = await everything(rig.direct);
    expect(dump).toContain(id);
    for (const secret of [pickupToken, credential, second, await rig.issuer.token()]) {
      expect(dump).not.toContain(secret.slice(0, 20));
    }
  });
});
