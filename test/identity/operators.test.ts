import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AuditOutcome, AuditService } from "../../gen/baton/admin/v1/audit_pb.js";
import { PushService } from "../../gen/baton/admin/v1/push_pb.js";
import { TaskService } from "../../gen/baton/admin/v1/task_pb.js";
import { parseConfig } from "../../src/config/load.ts";
import { AUDIENCE } from "./issuer.ts";
import { adminOf, ask, bodyOf } from "./people.ts";
import { ADMIN_AUDIENCE, codeOf, type Rig, refusalOf, startRig, withToken } from "./rig.ts";

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig?.stop());
beforeEach(() => rig.clear());

const people = (sub: string, change: Record<string, unknown> = {}) =>
  rig.issuer.token({ sub, aud: ADMIN_AUDIENCE, ...change });

describe("people who operate", () => {
  it("SB-60 see and decide on what is theirs, and nothing else exists for them", async () => {
    const [hannah, ivan] = [adminOf(rig.gateway, await people("h")), adminOf(rig.gateway, await people("i"))];
    const mine = await rig.asked({ to_persona: "hers" });
    const others = await rig.asked();
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
    const hannah = adminOf(rig.gateway, await people("h"));
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
    const refused = await refusalOf(adminOf(rig.gateway, "nonsense").grants.listGrants({}));
    expect(refused.code).toBe(Code.Unauthenticated);
    const tokens = [
      await people("j"),
      await people("h", { aud: AUDIENCE }),
      await people("h", { exp: 1000 }),
      await rig.gateway.vend(),
      `${await people("h")}x`,
    ];
    for (const token of tokens) {
      expect(await refusalOf(adminOf(rig.gateway, token).grants.listGrants({}))).toEqual(refused);
    }
    await expect(
      ask(rig.gateway, await bodyOf(rig.issuer, { provenance: await people("h") })),
    ).resolves.toMatchObject({ status: 401 });
  });

  it("SB-60 have no part in what knows no owners", async () => {
    const token = await people("h");
    const push = createClient(PushService, createGrpcTransport({ baseUrl: rig.gateway.adminUrl }));
    expect(await codeOf(push.listDeadLetters({}, withToken(token)))).toBe(Code.PermissionDenied);
    const transport = createGrpcTransport({ baseUrl: rig.gateway.adminUrl });
    const tasks = createClient(TaskService, transport);
    expect(await codeOf(tasks.searchTasks({}, withToken(token)))).toBe(Code.PermissionDenied);
    expect(await codeOf(tasks.cancelTask({ id: "td_1" }, withToken(token)))).toBe(Code.PermissionDenied);
    const audit = createClient(AuditService, transport);
    expect(await codeOf(audit.listAuditEntries({}, withToken(token)))).toBe(Code.PermissionDenied);
    // What a person tried is written down in the person's name.
    const { entries } = await audit.listAuditEntries({ pageSize: 1 }, withToken(rig.gateway.adminToken));
    expect(entries).toMatchObject([
      {
        operator: "hannah",
        action: "baton.admin.v1.TaskService/CancelTask",
        target: "td_1",
        outcome: AuditOutcome.REFUSED,
        error: "Forbidden",
      },
    ]);
  });

  it("SB-60 do only so much in a while, on all replicas: they cannot push out of the audit what others did", async () => {
    const token = await people("i");
    const ivan = adminOf(rig.gateway, token).grants;
    const there = adminOf(rig.replica, token).grants;
    const count = async () => {
      const audit = createClient(AuditService, createGrpcTransport({ baseUrl: rig.gateway.adminUrl }));
      const { entries } = await audit.listAuditEntries(
        { operator: "ivan", pageSize: 500 },
        withToken(rig.gateway.adminToken),
      );
      return entries.length;
    };
    const tries = Array.from({ length: 350 }, (_, n) =>
      codeOf((n % 2 === 0 ? ivan : there).denyGrant({ id: "none" })),
    );
    const codes = await Promise.all(tries);
    expect(new Set(codes)).toEqual(new Set([Code.NotFound, Code.ResourceExhausted]));
    const written = await count();
    expect(written).toBeGreaterThan(250);
    expect(written).toBeLessThan(310);
    // Reading costs nothing, and nobody else is charged.
    expect((await ivan.listGrants({})).grants).toEqual([]);
    const hannah = adminOf(rig.gateway, await people("h"));
    expect(await codeOf(hannah.grants.denyGrant({ id: "none" }))).toBe(Code.NotFound);
    expect(await codeOf(rig.admin.grants.denyGrant({ id: "none" }))).toBe(Code.NotFound);
  });
});

describe("admin.people", () => {
  const issuer = "https://login.example";
  const withPerson = (name: string) => ({
    identity: { issuers: [{ issuer, audiences: ["friends"] }] },
    admin: { audience: "operators", people: [{ name, issuer, subject: "s" }] },
  });

  it("SB-60 holds nobody who is called like the operator or the gateway itself, whose work would be theirs", () => {
    expect(parseConfig(withPerson("hannah")).admin.people).toHaveLength(1);
    for (const name of ["operator", "system", "admin"]) {
      expect(() => parseConfig(withPerson(name)), name).toThrow(
        /admin\.people\.0\.name: the name is reserved/,
      );
    }
  });
});
