import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AuditEntry, AuditOutcome, AuditService } from "../../gen/baton/admin/v1/audit_pb.js";
import { EndpointService } from "../../gen/baton/admin/v1/endpoint_pb.js";
import { GrantService } from "../../gen/baton/admin/v1/grant_pb.js";
import { PushService } from "../../gen/baton/admin/v1/push_pb.js";
import { QueueService } from "../../gen/baton/admin/v1/queue_pb.js";
import { StatsService } from "../../gen/baton/admin/v1/stats_pb.js";
import {
  CancelTaskRequestSchema,
  CancelTaskResponseSchema,
  TaskService,
} from "../../gen/baton/admin/v1/task_pb.js";
import { TodoService } from "../../gen/baton/admin/v1/todo_pb.js";
import type { Verb } from "../../src/domain/caller.ts";
import { createJournal, isWrittenDown } from "../../src/service/admin/journal.ts";
import { AdminAuditStore } from "../../src/store/admin-audit.ts";
import { senderOf } from "../engine/client.ts";
import { startTestRedis } from "../redis-server.ts";
import { adminOf, codeOf, startTwo, type Two } from "./rig.ts";

let two: Two;
beforeAll(async () => {
  two = await startTwo();
});
afterAll(() => two?.stop());

async function latest(filter: Parameters<Two["admin"]["audit"]["listAuditEntries"]>[0] = {}) {
  return (await two.otherAdmin.audit.listAuditEntries(filter)).entries;
}

function brief({ action, target, outcome, error }: AuditEntry): string {
  return [action.replace("baton.admin.v1.", ""), target, AuditOutcome[outcome], error].join(" ").trim();
}

describe("AuditService", () => {
  it("is empty before anybody did anything, and reading is not written down", async () => {
    await two.admin.tasks.searchTasks({});
    await two.admin.stats.getStats({});
    const page = await two.admin.audit.listAuditEntries({});
    expect(page.entries).toEqual([]);
    expect(page.nextPageToken).toBe("");
  });

  it("tells of every action of every service, the newest first, with who, what and the outcome", async () => {
    const { admin } = two;
    const { endpoint } = await admin.endpoints.createEndpoint({
      name: "audited",
      scope: { queues: ["default"], verbs: ["create_for"] },
    });
    const id = endpoint?.id ?? "";
    await admin.endpoints.updateEndpoint({ id, name: "renamed" });
    await admin.endpoints.revokeEndpoint({ id });
    await two.otherAdmin.endpoints.deleteEndpoint({ id });
    await codeOf(admin.todos.retryTodo({ id: "td_none" }));
    const entries = await latest();
    expect(entries.map(brief)).toEqual([
      "TodoService/RetryTodo td_none REFUSED NotFound",
      `EndpointService/DeleteEndpoint ${id} OK`,
      `EndpointService/RevokeEndpoint ${id} OK`,
      `EndpointService/UpdateEndpoint ${id} OK`,
      `EndpointService/CreateEndpoint ${id} OK`,
    ]);
    expect(entries[4]).toMatchObject({
      operator: "operator",
      details: { name: "audited", verbs: "create_for" },
    });
    for (const { requestId } of entries) expect(requestId).not.toBe("");
    const times = entries.map(({ time }) => Number(time?.seconds) * 1e9 + Number(time?.nanos));
    expect([...times].sort((a, b) => b - a)).toEqual(times);
  });

  it("holds what was refused, whatever refused it, and why the operator did it", async () => {
    const sender = senderOf(two.gateway.url, await two.gateway.vend());
    const task = await sender.send("x");
    await two.admin.tasks.cancelTask({ id: task.id, reason: "asked to\nby its owner" });
    await codeOf(two.admin.tasks.cancelTask({ id: task.id, agent: "__proto__" }));
    await codeOf(two.admin.tasks.replyToTask({ id: task.id, text: "too late" }));
    const entries = await latest({ target: task.id });
    expect(entries.map(brief)).toEqual([
      `TaskService/ReplyToTask ${task.id} REFUSED UnsupportedOperation`,
      `TaskService/CancelTask ${task.id} REFUSED InvalidParams`,
      `TaskService/CancelTask ${task.id} OK`,
    ]);
    expect(entries[1]?.agent).toBe("__proto__");
    expect(entries[2]?.reason).toBe("asked to by its owner");
    // What was said is the client's business.
    expect(JSON.stringify(entries.map(({ details }) => details))).not.toContain("too late");
  });

  it("SB-56 holds no secret, not even where an operator puts one in the wrong field", async () => {
    const credential = await two.gateway.vend();
    const slips = [credential, two.gateway.adminToken, "Bearer abcdef0123456789"];
    for (const slip of slips) {
      await codeOf(two.admin.endpoints.revokeEndpoint({ id: slip }));
      await codeOf(two.admin.tasks.cancelTask({ id: slip, reason: `used ${slip} for it` }));
      await codeOf(two.admin.endpoints.createEndpoint({ name: slip, scope: { queues: [slip] } }));
    }
    const stored = String(
      await two.redis.run("baton:admin-audit", ["XRANGE", "baton:admin-audit", "-", "+"]),
    );
    for (const slip of slips) expect(stored).not.toContain(slip);
    expect(stored).not.toContain("abcdef0123456789");
    expect(stored).toContain("[credential]");
  });

  it("keeps an entry as short as it need be, and on one line", async () => {
    await codeOf(two.admin.endpoints.deleteEndpoint({ id: `long ${"x".repeat(100_000)}` }));
    await codeOf(two.admin.endpoints.deleteEndpoint({ id: "one\r\ntwo\u001b[2J" }));
    const [odd, long] = await latest();
    expect(long?.target).toHaveLength(201);
    expect(odd?.target).toBe("one two [2J");
  });

  it("turns pages, filters, and refuses what is not its own", async () => {
    const { audit } = two.admin;
    for (let i = 0; i < 5; i++) await codeOf(two.admin.todos.retryTodo({ id: `page-${i}` }));
    const filter = { action: "RetryTodo", operator: "operator" };
    const all = (await latest(filter)).map(({ id }) => id);
    const paged: string[] = [];
    let pageToken = "";
    do {
      const page = await audit.listAuditEntries({ ...filter, pageSize: 2, pageToken });
      paged.push(...page.entries.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(paged).toEqual(all);
    expect(await latest({ operator: "somebody" })).toEqual([]);
    const [newest] = await latest();
    const time = newest?.time;
    if (time === undefined) throw new Error("no time");
    expect((await latest({ since: time })).map(({ id }) => id)).toContain(newest?.id);
    expect((await latest({ before: time })).map(({ id }) => id)).not.toContain(newest?.id);
    const far = (seconds: bigint) => ({ seconds, nanos: 0 });
    for (const seconds of [-62_135_596_800n, 0n, 253_402_300_799n]) {
      const future = seconds > 0n;
      expect((await latest({ since: far(seconds) })).length > 0, `since ${seconds}`).toBe(!future);
      expect((await latest({ before: far(seconds) })).length > 0, `before ${seconds}`).toBe(future);
    }
    const { nextPageToken } = await audit.listAuditEntries({ pageSize: 1 });
    expect(await codeOf(audit.listAuditEntries({ pageSize: 501 }))).toBe("InvalidArgument");
    expect(await codeOf(audit.listAuditEntries({ pageSize: -1 }))).toBe("InvalidArgument");
    expect(await codeOf(audit.listAuditEntries({ pageToken: "x" }))).toBe("InvalidArgument");
    const elsewhere = audit.listAuditEntries({ action: "Other", pageToken: nextPageToken });
    expect(await codeOf(elsewhere)).toBe("InvalidArgument");
    const tasks = two.admin.tasks.searchTasks({ pageToken: nextPageToken });
    expect(await codeOf(tasks)).toBe("InvalidArgument");
  });

  it("an action whose gateway dies in the middle leaves an entry without an outcome", async () => {
    const store = new AdminAuditStore(two.redis);
    const requestId = randomUUID();
    const action = { operator: "operator", action: "X/Do", agent: "", target: "t", reason: "", details: {} };
    const begun = await store.begin({ ...action, requestId });
    const find = async () =>
      (await latest({ action: "X/Do" })).filter((entry) => entry.requestId === requestId);
    expect((await find()).map(brief)).toEqual(["X/Do t UNSPECIFIED"]);
    await store.end(begun, { ...action, requestId, outcome: "ok" });
    expect((await find()).map(brief)).toEqual(["X/Do t OK"]);
  });

  it("an action that cannot be written down is not done", async () => {
    const server = await startTestRedis();
    const connection = await server.connect();
    const errors: unknown[] = [];
    const journal = createJournal(new AdminAuditStore(connection), {
      onError: (error) => errors.push(error),
      charge: async () => 0,
    });
    const caller = { id: "admin", name: "operator", agent: "", queues: [], verbs: new Set<Verb>() };
    const about = {
      method: TaskService.method.cancelTask,
      request: create(CancelTaskRequestSchema, { id: "td_1" }),
      caller: { ...caller, capabilities: { streaming: false, push: false } },
      requestId: "r",
    };
    let ran = 0;
    const run = async () => {
      ran += 1;
      return { message: create(CancelTaskResponseSchema, {}), headers: new Map<string, string>() };
    };
    await journal(about, run);
    expect(ran).toBe(1);
    // The store goes away while an action is under way: it stands as it was done, and the operator of the gateway hears.
    await journal(about, async () => {
      await connection.close();
      return run();
    });
    expect([ran, errors.length]).toEqual([2, 1]);
    await expect(journal(about, run)).rejects.toThrow();
    expect(ran).toBe(2);
    await server.stop();
  });

  it("writes down every method that is no plain read: this is all of them", () => {
    const services = [
      AuditService,
      EndpointService,
      GrantService,
      PushService,
      QueueService,
      StatsService,
      TaskService,
      TodoService,
    ];
    const written = services
      .flatMap((service) => Object.values(service.method))
      .filter((method) => isWrittenDown(method))
      .map(({ name }) => name);
    expect(written).toEqual([
      "CreateEndpoint",
      "UpdateEndpoint",
      "RevokeEndpoint",
      "DeleteEndpoint",
      "ApproveGrant",
      "DenyGrant",
      "RevokeGrant",
      "ReissuePickup",
      "DeleteGrant",
      "ReplayDeadLetters",
      "PurgeDeadLetters",
      "CancelTask",
      "RetryTask",
      "ReplyToTask",
      "RetryTodo",
    ]);
  });

  it("counts no call without a valid credential: it cannot crowd out what was done", async () => {
    const before = (await latest()).length;
    const stranger = adminOf(two.gateway, { token: "wrong" });
    for (let i = 0; i < 3; i++) await codeOf(stranger.endpoints.revokeEndpoint({ id: "x" }));
    expect(await latest()).toHaveLength(before);
  });
});
