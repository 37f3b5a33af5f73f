import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { GrantState } from "../../gen/baton/admin/v1/grant_pb.js";
import { TodoState } from "../../gen/baton/worker/v1/worker_pb.js";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { sendEverywhere } from "./bindings.ts";
import { befriend } from "./people.ts";
import { codeOf, type Rig, startRig, withToken } from "./rig.ts";

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig?.stop());
beforeEach(() => rig.clear());

describe("the friend", () => {
  it("SB-7 work that is handed over names its persona and the verb; the friend may do nothing else", async () => {
    const { credential } = await befriend(rig.gateway, rig.issuer);
    const task = await rig.send(credential);
    const drains = withToken(await rig.gateway.vendWorker({ queues: ["default", "reports"] }));
    const { todo } = await rig.worker.claim({ queue: "default" }, drains);
    expect(todo).toMatchObject({ id: task.id, source: "alice's helper", kind: "create_for" });
    expect(await codeOf(rig.worker.claim({ queue: "default" }, withToken(credential)))).toBe(
      Code.PermissionDenied,
    );
    expect(await codeOf(rig.worker.complete({ id: task.id }, withToken(credential)))).toBe(
      Code.PermissionDenied,
    );
    await rig.worker.complete({ id: task.id }, drains);
    const plain = await rig.send(await rig.gateway.vend());
    const other = await rig.worker.claim({ queue: "default" }, drains);
    expect(other.todo).toMatchObject({ id: plain.id, source: "", kind: "" });
    await rig.worker.complete({ id: plain.id }, drains);
  });

  it("SB-7 SB-59 pending, denied, revoked and expired get one refusal on every binding", async () => {
    const pending = await rig.asked({ from_persona: "pending" });
    const denied = await rig.asked({ from_persona: "denied" });
    await rig.admin.grants.denyGrant({ id: denied.id });
    const revoked = await befriend(rig.gateway, rig.issuer, { from_persona: "revoked" });
    await rig.admin.grants.revokeGrant({ id: revoked.id });
    const soon = { expiresAt: timestampFromMs(Date.now() + 400) };
    const expired = await befriend(rig.gateway, rig.issuer, { from_persona: "expired" }, soon);
    const live = await befriend(rig.gateway, rig.issuer, { from_persona: "live" });
    expect(
      (await sendEverywhere(rig.gateway.url, live.credential)).every(
        ({ status }) => status === 200 || status === "OK",
      ),
    ).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 600));
    const reference = await sendEverywhere(rig.gateway.url, `sbk_${"A".repeat(43)}`);
    expect(new Set(reference.map(({ status }) => status))).toEqual(new Set([401, "Unauthenticated"]));
    for (const token of [pending.token, denied.token, revoked.credential, expired.credential]) {
      expect(await sendEverywhere(rig.gateway.url, token)).toEqual(reference);
      expect(await sendEverywhere(rig.replica.url, token)).toEqual(reference);
    }
  });

  it("SB-23 two friends with the same keys have two todos and see only their own", async () => {
    const one = await befriend(rig.gateway, rig.issuer, { from_persona: "one" });
    const two = await befriend(rig.gateway, rig.issuer, { from_persona: "two" });
    const key = { idempotencyKey: "same" };
    const messageId = "same-message";
    const first = await rig.send(one.credential, key, messageId);
    const second = await rig.send(two.credential, key, messageId);
    expect(second.id).not.toBe(first.id);
    expect((await rig.send(one.credential, key)).id).toBe(first.id);
    expect(await codeOf(rig.a2a.getTask({ id: first.id }, withToken(two.credential)))).toBe(Code.NotFound);
    const { tasks } = await rig.a2a.listTasks({}, withToken(two.credential));
    expect(tasks.map(({ id }) => id)).toEqual([second.id]);
    // The next friendship of the same pair starts afresh.
    await rig.admin.grants.revokeGrant({ id: one.id });
    const again = await befriend(rig.gateway, rig.issuer, { from_persona: "one" });
    expect((await rig.send(again.credential, key)).id).not.toBe(first.id);
  });

  it("SB-27 SB-65 a revoked friendship ends its open work and nobody else's", async () => {
    const one = await befriend(rig.gateway, rig.issuer, { from_persona: "one" });
    const two = await befriend(rig.gateway, rig.issuer, { from_persona: "two" });
    const ended = await rig.send(one.credential);
    const kept = await rig.send(two.credential);
    const { deadLettered, grant } = await rig.admin.grants.revokeGrant({ id: one.id });
    expect([deadLettered, grant?.state]).toEqual([1, GrantState.REVOKED]);
    const drains = withToken(await rig.gateway.vendWorker({ queues: ["default"] }));
    expect((await rig.worker.getTodo({ id: ended.id }, drains)).todo?.state).toBe(TodoState.FAILED);
    expect((await rig.a2a.getTask({ id: kept.id }, withToken(two.credential))).status?.state).toBe(
      TaskState.SUBMITTED,
    );
    expect((await rig.admin.grants.getGrant({ id: two.id })).grant?.state).toBe(GrantState.APPROVED);
  });

  it("SB-65 a friendship is for one agent and one direction: nothing follows for another", async () => {
    const one = await befriend(rig.gateway, rig.issuer, {
      requested_queues: ["default"],
      from_persona: "hers",
    });
    const back = await befriend(rig.gateway, rig.issuer, { to_persona: "hers", from_persona: "default" });
    const elsewhere = await sendEverywhere(rig.gateway.url, one.credential, "/hers");
    expect(
      elsewhere.filter(({ binding }) => binding.startsWith("JSON-RPC")).map(({ status }) => status),
    ).toEqual([403, 403]);
    await rig.admin.grants.revokeGrant({ id: one.id });
    expect((await rig.send(back.credential)).status?.state).toBe(TaskState.SUBMITTED);
  });

  it("SB-64 SB-65 an endpoint that ends by another way ends its friendship too", async () => {
    const revoked = await befriend(rig.gateway, rig.issuer, { from_persona: "one" });
    await rig.admin.endpoints.revokeEndpoint({ id: revoked.endpointId });
    expect((await rig.admin.grants.getGrant({ id: revoked.id })).grant?.state).toBe(GrantState.REVOKED);
    const soon = { expiresAt: timestampFromMs(Date.now() + 300) };
    const expired = await befriend(rig.gateway, rig.issuer, { from_persona: "two" }, soon);
    await expect
      .poll(async () => (await rig.admin.grants.getGrant({ id: expired.id })).grant?.state, { timeout: 5000 })
      .toBe(GrantState.REVOKED);
    await rig.asked({ from_persona: "one" });
    await rig.asked({ from_persona: "two" });
  });
});
