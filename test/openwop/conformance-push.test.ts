/**
 * The push legs of the OpenWOP suite (RFC 0214, openwop.md 3.4 to 3.6) with their inputs and assertions, and what Baton adds for
 * forks, before a host of either major; gateway and host in processes of their own.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PushReceiver, respond, startPushReceiver, testAuthority } from "../push/receiver.ts";
import { QUICK } from "../push/rig.ts";
import { type GatewayProcess, type HostProcess, startGatewayProcess, startHostProcess } from "./processes.ts";
import { type Json, RpcClient, sleep } from "./rpc.ts";
import { openwopAgent } from "./setup.ts";

const EXAMPLE = "https://push.example.com/openwop-conformance";
/** Longer than the retries of this configuration take. */
const QUIET_MS = 1500;

describe.each([1, 2] as const)("before a host of major %i", (major) => {
  const receivers: PushReceiver[] = [];
  let folder: string;
  let host: HostProcess;
  let gateway: GatewayProcess;
  let suite: RpcClient;

  const agents = (extra: Json = {}) => ({
    agents: {
      fronted: openwopAgent(host.url, "conformance-approval", {
        major,
        callers: { "tenant-b": { credential: { env: "OPENWOP_TEST_OTHER_KEY" } } },
      }),
    },
    defaultAgent: "fronted",
    openwop: { proxyAgent: "fronted" },
    ...extra,
  });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "baton-ca-"));
    const caFile = join(folder, "ca.pem");
    writeFileSync(caFile, testAuthority().ca);
    host = await startHostProcess();
    gateway = await startGatewayProcess(agents({ push: { ...QUICK, caFiles: [caFile] } }));
    suite = new RpcClient(gateway.url, await gateway.vend("fronted", { push: true }));
  }, 60_000);
  afterAll(async () => {
    for (const receiver of receivers) await receiver.close();
    await gateway?.stop();
    await host?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function receiver(answer = respond(204)): Promise<PushReceiver> {
    const made = await startPushReceiver({ answer });
    receivers.push(made);
    return made;
  }

  const prefix = major === 1 ? "/v1" : "";
  async function driver(path: string, init: RequestInit & { key?: string } = {}) {
    const { key = suite.token, ...rest } = init;
    const response = await fetch(`${gateway.url}${prefix}${path}`, {
      ...rest,
      headers: {
        ...(major === 2 ? { "OpenWOP-Version": "2.0" } : {}),
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...rest.headers,
      },
    });
    const body: Json = await response.json();
    return { status: response.status, body };
  }
  const path = (id: string) => `/runs/${encodeURIComponent(id)}`;
  const register = (taskId: string, config: Json, client = suite) =>
    client.call("CreateTaskPushNotificationConfig", { taskId, ...config });
  const bearer = (credentials: string) => ({ authentication: { scheme: "Bearer", credentials } });
  const accept = (id: string) => suite.decide(id, { action: "accept" });
  const fork = (id: string, body: Json, headers: Record<string, string> = {}) =>
    driver(`${path(id)}:fork`, { method: "POST", body: JSON.stringify(body), headers });

  async function completed(config?: Json): Promise<Json> {
    const task = await suite.start();
    if (config !== undefined) expect((await register(task.id, config)).error).toBeUndefined();
    await accept(task.id);
    return suite.until(task.id, "TASK_STATE_COMPLETED");
  }

  describe("op-map", () => {
    it("OW-36 0214.a2a-push-unadvertised-refused", async () => {
      const without = await startGatewayProcess(agents({ push: { enabled: false } }));
      try {
        const client = new RpcClient(without.url, await without.vend("fronted"));
        const card: Json = await (
          await fetch(`${without.url}/.well-known/agent-card.json`, { headers: { "A2A-Version": "1.0" } })
        ).json();
        expect(card.capabilities.pushNotifications ?? false).toBe(false);
        const { id: taskId } = await client.start();
        for (const [method, params] of [
          ["Create", { url: EXAMPLE }],
          ["Get", { id: "pnc-x" }],
          ["Delete", { id: "pnc-x" }],
        ] as const) {
          const answer = await client.call(`${method}TaskPushNotificationConfig`, { taskId, ...params });
          expect(answer.error.code, method).toBe(-32003);
        }
        expect((await client.call("ListTaskPushNotificationConfigs", { taskId })).error.code).toBe(-32003);
      } finally {
        await without.stop();
      }
    }, 60_000);

    it("OW-37 OW-38 OW-42 0214.a2a-push-register-ssrf", async () => {
      const { id } = await suite.start();
      for (const url of [
        "http://push.example.com/openwop-conformance",
        "https://10.0.0.1/openwop-conformance",
        "https://127.0.0.1/openwop-conformance",
        "https://169.254.169.254/latest/meta-data",
      ]) {
        const { result, error } = await register(id, { url });
        expect(result, url).toBeUndefined();
        expect(error.code, url).toBe(-32602);
      }
    });

    it("OW-45 0214.a2a-push-secrets-not-returned", async () => {
      const hook = await receiver();
      const { id: taskId } = await suite.start();
      const sentinel = { token: `tok-${randomUUID()}`, credentials: `cred-${randomUUID()}` };
      const made = await register(taskId, {
        url: hook.url,
        token: sentinel.token,
        ...bearer(sentinel.credentials),
      });
      const shown = [
        made.body,
        (await suite.call("GetTaskPushNotificationConfig", { taskId, id: made.result.id })).body,
        (await suite.call("ListTaskPushNotificationConfigs", { taskId })).body,
        await suite.task(taskId),
        await driver(path(taskId)),
        await driver(`${path(taskId)}/events/poll?timeout=1`),
      ];
      expect(made.result.authentication.scheme).toBe("Bearer");
      for (const one of shown) {
        expect(JSON.stringify(one)).not.toContain(sentinel.token);
        expect(JSON.stringify(one)).not.toContain(sentinel.credentials);
      }
    });

    it("OW-54 OW-55 0214.a2a-push-config-isolation", async () => {
      const hook = await receiver();
      const one = (await suite.start()).id;
      const two = (await suite.start()).id;
      const made = (await register(one, { url: hook.url })).result.id;
      const foreign = major === 2 ? `zz-conformance-foreign/${"o".repeat(22)}` : `run_${"o".repeat(22)}`;
      const unknown = `pnc-${randomUUID()}`;
      const method = "GetTaskPushNotificationConfig";
      const seen = [];
      for (const [taskId, id] of [
        [one, unknown],
        [two, made],
        [foreign, made],
      ] as const) {
        const { status, error } = await suite.call(method, { taskId, id });
        const details = JSON.stringify(error.data).replaceAll(id, "ID").replaceAll(taskId, "TASK");
        seen.push({ status, code: error.code, message: error.message, details });
      }
      expect(seen[1]).toEqual(seen[0]);
      expect(seen[2]).toEqual(seen[0]);
      const taken = await suite.call("DeleteTaskPushNotificationConfig", { taskId: foreign, id: made });
      expect(taken.error !== undefined || JSON.stringify(taken.result) === "{}").toBe(true);
      expect((await suite.call(method, { taskId: one, id: made })).result.id).toBe(made);
      for (let i = 0; i < 2; i++) {
        const own = await suite.call("DeleteTaskPushNotificationConfig", { taskId: one, id: made });
        expect(own.error).toBeUndefined();
      }
    });
  });

  describe("push", () => {
    it("OW-43 OW-49 OW-51 0214.a2a-push-delivery-authenticated, 0214.a2a-push-no-openwop-signature", async () => {
      const hook = await receiver();
      const { id } = await completed({ url: hook.url, ...bearer("destination-credential") });
      await hook.until(1);
      await sleep(300);
      const first = hook.hits[0];
      expect(first?.headers["content-type"]).toBe("application/a2a+json");
      expect(JSON.parse(first?.body ?? "").statusUpdate.taskId).toBe(id);
      for (const { headers } of hook.hits) {
        expect(headers.authorization).toBe("Bearer destination-credential");
        expect(Object.keys(headers).filter((name) => /signature|^x-openwop|^openwop-/i.test(name))).toEqual(
          [],
        );
      }
    });

    it("OW-41 0214.a2a-push-no-redirect", async () => {
      const target = await receiver();
      const hook = await receiver(respond(307, { location: target.url }));
      await completed({ url: hook.url, ...bearer("secret") });
      await hook.until(1);
      await sleep(4000);
      expect(hook.hits.length).toBeGreaterThanOrEqual(1);
      expect(target.accepted).toBe(0);
    });

    it("OW-46 OW-56 0214.a2a-push-discard-on-delete", async () => {
      const kept = await receiver();
      const dropped = await receiver();
      const { id: taskId } = await suite.start();
      await register(taskId, { url: kept.url, ...bearer("kept") });
      const { result } = await register(taskId, { url: dropped.url, ...bearer("dropped") });
      await suite.call("DeleteTaskPushNotificationConfig", { taskId, id: result.id });
      await accept(taskId);
      await kept.until(1);
      await sleep(3000);
      expect(dropped.accepted).toBe(0);
    });

    it("OW-53 0214.a2a-push-fork-no-push", async () => {
      const hook = await receiver();
      const task = await completed({ url: hook.url });
      await hook.until(1);
      await sleep(500);
      const before = hook.hits.length;
      const made = await fork(task.id, { mode: "replay" });
      expect(made.status).toBe(201);
      const child = await driver(path(made.body.runId));
      expect(child.body.status).toBe("completed");
      await sleep(4000);
      expect(hook.hits).toHaveLength(before);
    });
  });

  describe("forks made through Baton", () => {
    it("OW-53 a replay is marked, shows its state and tells nothing: no push config, no artifacts", async () => {
      const hook = await receiver();
      const source = await completed({ url: hook.url });
      expect(source.artifacts.length).toBeGreaterThan(0);
      const { body, status } = await fork(source.id, { mode: "replay" });
      expect([status, body.sourceRunId, body.mode]).toEqual([201, source.id, "replay"]);
      const task = await suite.until(body.runId, "TASK_STATE_COMPLETED");
      expect(task.metadata.openwop.fork).toEqual({ mode: "replay", sourceTaskId: source.id });
      expect(task.contextId).toBe(body.runId);
      expect([task.artifacts ?? [], task.history ?? []]).toEqual([[], []]);
      const hits = hook.hits.length;
      const refused = await register(body.runId, { url: hook.url });
      expect(refused.error.code).toBe(-32004);
      expect(JSON.stringify(refused.error.data)).toContain("UNSUPPORTED_OPERATION");
      const { result } = await suite.call("ListTaskPushNotificationConfigs", { taskId: body.runId });
      expect(result.configs ?? []).toEqual([]);
      await sleep(QUIET_MS);
      expect(hook.hits).toHaveLength(hits);
    });

    it("OW-57 a reply cannot bring a replay a push config either, and is refused before the host is asked", async () => {
      const hook = await receiver();
      const source = await suite.start();
      const { body } = await fork(source.id, { mode: "replay" });
      await suite.until(body.runId, "TASK_STATE_INPUT_REQUIRED");
      const asked = (await host.control("requests")).length;
      const { error } = await suite.call("SendMessage", {
        message: {
          messageId: randomUUID(),
          role: "ROLE_USER",
          taskId: body.runId,
          parts: [{ data: { action: "accept" } }],
        },
        configuration: { taskPushNotificationConfig: { url: hook.url } },
      });
      expect(error.code).toBe(-32004);
      const since: Json[] = (await host.control("requests")).slice(asked);
      expect(since.filter(({ path: to }) => to.includes("/interrupts/"))).toEqual([]);
    });

    it("OW-53 a branch is marked and new work: it inherits no config, and may have its own", async () => {
      const inherited = await receiver();
      const own = await receiver();
      const source = await completed({ url: inherited.url });
      await sleep(500);
      const before = inherited.hits.length;
      const { body } = await fork(source.id, { mode: "branch", fromSeq: 1 });
      const task = await suite.task(body.runId);
      expect(task.metadata.openwop.fork).toEqual({ mode: "branch", sourceTaskId: source.id });
      expect((await register(body.runId, { url: own.url })).error).toBeUndefined();
      await suite.call("CancelTask", { id: body.runId });
      const canceled = await suite.until(body.runId, "TASK_STATE_CANCELED");
      expect(canceled.metadata.openwop.fork.mode).toBe("branch");
      await own.until(1);
      for (const hit of own.hits) expect(JSON.parse(hit.body).statusUpdate.taskId).toBe(body.runId);
      expect(inherited.hits).toHaveLength(before);
    });

    it("OW-10 OW-13 the record of a fork is one like any other; OW-26 it is its owner's alone", async () => {
      const source = await completed();
      const { body } = await fork(source.id, { mode: "replay" });
      await suite.until(body.runId, "TASK_STATE_COMPLETED");
      const seam = `${gateway.url}/v1/a2a/tasks/${encodeURIComponent(body.runId)}`;
      const read = await fetch(seam, { headers: { authorization: `Bearer ${suite.token}` } });
      const record: Json = await read.json();
      expect(Object.keys(record).sort()).toEqual(["contextId", "runId", "state", "taskId", "updatedAt"]);
      expect(record).toMatchObject({ taskId: body.runId, runId: body.runId, state: "completed" });
      const stranger = new RpcClient(gateway.url, await gateway.vend("fronted"));
      expect((await stranger.call("GetTask", { id: body.runId })).error.code).toBe(-32001);
      expect((await driver(path(body.runId), { key: stranger.token })).status).toBe(404);
      expect(
        (
          await driver(`${path(source.id)}:fork`, {
            method: "POST",
            body: JSON.stringify({ mode: "replay" }),
            key: stranger.token,
          })
        ).status,
      ).toBe(404);
    });

    it("OW-26 a fork of a run that is no task is none either, and a refused fork marks nothing", async () => {
      const made = await driver("/runs", {
        method: "POST",
        body: JSON.stringify({ workflowId: "conformance-approval", inputs: {} }),
      });
      expect(made.status).toBe(201);
      const child = await fork(made.body.runId, { mode: "replay" });
      expect(child.status).toBe(201);
      expect((await suite.call("GetTask", { id: child.body.runId })).error.code).toBe(-32001);
      const task = await suite.start();
      const before = (await suite.call("ListTasks", {})).result.totalSize;
      expect((await fork(task.id, { mode: "branch" })).body.error).toBe("fork_point_invalid");
      expect((await suite.call("ListTasks", {})).result.totalSize).toBe(before);
    });

    it("OW-53 a fork that is asked for by the projected form of its source's id is marked too", async () => {
      const source = await completed();
      const projected = source.id.replace("/", "~2F");
      const made = await driver(`/runs/${projected}:fork`, {
        method: "POST",
        body: JSON.stringify({ mode: "replay" }),
      });
      expect(made.status).toBe(201);
      expect((await suite.task(made.body.runId)).metadata.openwop.fork.sourceTaskId).toBe(source.id);
    });
  });
});
