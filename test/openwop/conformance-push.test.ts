/**
 * The push legs of the OpenWOP suite (RFC 0214, openwop.md 3.4 to 3.6) with their inputs and assertions, before a host of
 * either major; gateway and host in processes of their own.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { respond } from "../push/receiver.ts";
import { startGatewayProcess } from "./processes.ts";
import { bearer, lastPush, type PushPair, runPath, startPushPair } from "./push-pair.ts";
import { type Json, RpcClient, sleep } from "./rpc.ts";

const EXAMPLE = "https://push.example.com/openwop-conformance";

describe.each([1, 2] as const)("before a host of major %i", (major) => {
  let pair: PushPair;
  beforeAll(async () => {
    pair = await startPushPair(major);
  }, 60_000);
  afterAll(() => pair?.stop());

  describe("op-map", () => {
    it("OW-36 0214.a2a-push-unadvertised-refused", async () => {
      const without = await startGatewayProcess(pair.document({ push: { enabled: false } }));
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
      const { id } = await pair.suite.start();
      for (const url of [
        "http://push.example.com/openwop-conformance",
        "https://10.0.0.1/openwop-conformance",
        "https://127.0.0.1/openwop-conformance",
        "https://169.254.169.254/latest/meta-data",
      ]) {
        const { result, error } = await pair.register(id, { url });
        expect(result, url).toBeUndefined();
        expect(error.code, url).toBe(-32602);
      }
    });

    it("OW-45 0214.a2a-push-secrets-not-returned", async () => {
      const hook = await pair.receiver();
      const { id: taskId } = await pair.suite.start();
      const sentinel = { token: `tok-${randomUUID()}`, credentials: `cred-${randomUUID()}` };
      const made = await pair.register(taskId, {
        url: hook.url,
        token: sentinel.token,
        ...bearer(sentinel.credentials),
      });
      const shown = [
        made.body,
        (await pair.suite.call("GetTaskPushNotificationConfig", { taskId, id: made.result.id })).body,
        (await pair.suite.call("ListTaskPushNotificationConfigs", { taskId })).body,
        await pair.suite.task(taskId),
        await pair.driver(runPath(taskId)),
        await pair.driver(`${runPath(taskId)}/events/poll?timeout=1`),
      ];
      expect(made.result.authentication.scheme).toBe("Bearer");
      for (const one of shown) {
        expect(JSON.stringify(one)).not.toContain(sentinel.token);
        expect(JSON.stringify(one)).not.toContain(sentinel.credentials);
      }
    });

    it("OW-54 OW-55 0214.a2a-push-config-isolation", async () => {
      const hook = await pair.receiver();
      const one = (await pair.suite.start()).id;
      const two = (await pair.suite.start()).id;
      const made = (await pair.register(one, { url: hook.url })).result.id;
      const foreign = major === 2 ? `zz-conformance-foreign/${"o".repeat(22)}` : `run_${"o".repeat(22)}`;
      const unknown = `pnc-${randomUUID()}`;
      const method = "GetTaskPushNotificationConfig";
      const seen = [];
      for (const [taskId, id] of [
        [one, unknown],
        [two, made],
        [foreign, made],
      ] as const) {
        const { status, error } = await pair.suite.call(method, { taskId, id });
        const details = JSON.stringify(error.data).replaceAll(id, "ID");
        seen.push({ status, code: error.code, message: error.message, details });
      }
      expect(seen[1]).toEqual(seen[0]);
      expect(seen[2]).toEqual(seen[0]);
      const taken = await pair.suite.call("DeleteTaskPushNotificationConfig", { taskId: foreign, id: made });
      expect(taken.error !== undefined || JSON.stringify(taken.result) === "{}").toBe(true);
      expect((await pair.suite.call(method, { taskId: one, id: made })).result.id).toBe(made);
      for (let i = 0; i < 2; i++) {
        const own = await pair.suite.call("DeleteTaskPushNotificationConfig", { taskId: one, id: made });
        expect(own.error).toBeUndefined();
      }
    });
  });

  describe("push", () => {
    it("OW-43 OW-49 OW-51 0214.a2a-push-delivery-authenticated, 0214.a2a-push-no-openwop-signature", async () => {
      const hook = await pair.receiver();
      const { id } = await pair.completed({ url: hook.url, ...bearer("destination-credential") });
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
      const target = await pair.receiver();
      const hook = await pair.receiver(respond(307, { location: target.url }));
      await pair.completed({ url: hook.url, ...bearer("secret") });
      await hook.until(1);
      await sleep(4000);
      expect(hook.hits.length).toBeGreaterThanOrEqual(1);
      expect(target.accepted).toBe(0);
    });

    it("OW-46 OW-56 0214.a2a-push-discard-on-delete", async () => {
      const kept = await pair.receiver();
      const dropped = await pair.receiver();
      const { id: taskId } = await pair.suite.start();
      await pair.register(taskId, { url: kept.url, ...bearer("kept") });
      const { result } = await pair.register(taskId, { url: dropped.url, ...bearer("dropped") });
      await pair.suite.call("DeleteTaskPushNotificationConfig", { taskId, id: result.id });
      await pair.accept(taskId);
      await kept.until(1);
      await sleep(3000);
      expect(dropped.accepted).toBe(0);
    });

    it("OW-53 0214.a2a-push-fork-no-push", async () => {
      const hook = await pair.receiver();
      const task = await pair.completed({ url: hook.url });
      const before = await lastPush(hook);
      const made = await pair.fork(task.id, { mode: "replay" });
      expect(made.status).toBe(201);
      const child = await pair.driver(runPath(made.body.runId));
      expect(child.body.status).toBe("completed");
      await sleep(4000);
      expect(hook.hits).toHaveLength(before);
    });
  });
});
