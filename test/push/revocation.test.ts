/** What an endpoint set up to be told of ends with the endpoint (SB-59). */
import { afterEach, describe, expect, it } from "vitest";
import { startTestRedis } from "../redis-server.ts";
import { type PushGateway, startPushGateway } from "./gateway.ts";
import { hang, type PushReceiver, quiet, respond, startPushReceiver } from "./receiver.ts";
import { AGENT, caller, SECRET_KEY, startRig } from "./rig.ts";

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function receiver(...args: Parameters<typeof startPushReceiver>): Promise<PushReceiver> {
  const made = await startPushReceiver(...args);
  open.push(() => made.close());
  return made;
}

/** Two replicas on one Redis, with tasks that all endpoints of a queue see. */
async function replicas(): Promise<readonly [PushGateway, PushGateway]> {
  const redis = await startTestRedis();
  open.push(() => redis.stop());
  const start = async () => {
    const gateway = await startPushGateway(
      { secretKey: SECRET_KEY, timeoutSeconds: 5 },
      { redis: { url: redis.server.url }, agents: { [AGENT]: { visibility: "queue" } } },
    );
    open.push(() => gateway.stop());
    return gateway;
  };
  return [await start(), await start()];
}

describe("a revoked endpoint", () => {
  it("SB-59, SB-75 is told nothing more of a shared task, on any replica; its waiting and running pushes end", async () => {
    const [one, two] = await replicas();
    const [owner, guest] = [await one.vend({ push: true }), await one.vend({ push: true })];
    const worker = await one.vendWorker();
    const kept = await receiver();
    const waiting = await receiver({ answer: respond(503, { "retry-after": "1" }) });
    const hanging = await receiver({ answer: hang });
    const { result } = await one.send(owner);
    const taskId = result.task.id as string;
    const register = (credential: string, hook: PushReceiver) =>
      two.rpc(credential, "CreateTaskPushNotificationConfig", { taskId, url: hook.url, token: "t" });
    await register(owner, kept);
    for (const hook of [waiting, hanging]) expect((await register(guest, hook)).error).toBeUndefined();
    let cut = 0;
    hanging.answer = (_hit, _response, _count, request) => request.socket.once("close", () => cut++);
    await one.work(worker, "Claim", {});
    await Promise.all([kept.until(1), waiting.until(1), hanging.until(1)]);

    await one.revoke(guest);
    await quiet(300);
    expect(cut, "the request under way was cut").toBe(1);
    const before = [waiting.hits.length, hanging.hits.length];
    for (const text of ["a", "b"]) {
      const message = { role: "ROLE_AGENT", messageId: text, parts: [{ text }] };
      expect((await one.work(worker, "UpdateStatus", { id: taskId, message })).status).toBe(200);
    }
    await kept.until(3);
    // Longer than the first receiver asked to be left alone.
    await quiet(1800);
    expect([waiting.hits.length, hanging.hits.length]).toEqual(before);
    // Nothing of it is left, and what the other endpoint set up is.
    const list = await two.rpc(owner, "ListTaskPushNotificationConfigs", { taskId });
    expect(list.result.configs).toHaveLength(1);
  });

  it("SB-59, OW-45 leaves no credential behind, also where a dead letter kept one; it cannot be replayed", async () => {
    const rig = await startRig();
    open.push(() => rig.stop());
    const gone = await receiver({ answer: respond(404) });
    const id = await rig.begin({ url: gone.url, token: "secret" });
    await gone.until(1);
    await rig.claim(id);
    await rig.complete(id);
    await gone.until(3);
    await quiet(300);
    const secrets = async () =>
      ((await rig.connection.run("x", ["KEYS", "baton:{default}:secret:*"])) as unknown[]).length;
    const letters = await rig.push.deadLetters.list(AGENT, { taskId: id, limit: 10 });
    expect(letters).toHaveLength(3);
    expect(await secrets()).toBe(1);
    expect(await rig.push.configs.revokeOwner(AGENT, caller().id, "operator")).toBe(1);
    expect(await secrets()).toBe(0);
    expect(await rig.push.configs.revokeOwner(AGENT, caller().id, "operator")).toBe(0);
    const ids = letters.map((letter) => letter.id);
    expect(await rig.push.deadLetters.replay(AGENT, ids, "operator")).toMatchObject({
      replayed: 0,
      refused: 3,
    });
    expect(await rig.connection.run("x", ["KEYS", "baton:{default}:push-of:*"])).toEqual([]);
  });

  it("SB-59 is not told of the end of its own todos; whoever watches them is", async () => {
    const [one] = await replicas();
    const [sender, watcher] = [await one.vend({ push: true }), await one.vend({ push: true })];
    const [mine, theirs] = [await receiver(), await receiver()];
    const { result } = await one.send(sender, { taskPushNotificationConfig: { url: mine.url } });
    const taskId = result.task.id as string;
    await one.rpc(watcher, "CreateTaskPushNotificationConfig", { taskId, url: theirs.url });
    await mine.until(1);
    await one.revoke(sender);
    const [hit] = await theirs.until(1);
    expect(JSON.parse(hit?.body ?? "").statusUpdate.status.state).toBe("TASK_STATE_FAILED");
    await quiet(300);
    expect(mine.hits).toHaveLength(1);
  });
});
