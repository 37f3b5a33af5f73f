import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisMode } from "../../gen/baton/admin/v1/stats_pb.js";
import { adminOf } from "../admin/rig.ts";
import { Reading, senderOf, workerOf } from "../engine/client.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { eventually, Servers, startSentinel, type TestSentinel } from "./servers.ts";

const servers = new Servers();
let redis: TestSentinel;
let gateway: TestGateway;
let other: TestGateway;

beforeAll(async () => {
  redis = await startSentinel(servers);
  const document = {
    // The first sentinel of the list is nobody: it must be passed over.
    redis: {
      sentinel: { name: redis.name, nodes: [{ host: "127.0.0.1", port: 1 }, ...redis.sentinels] },
      waitReplicas: 1,
      waitMilliseconds: 500,
    },
    streams: { perEndpoint: 50 },
  };
  gateway = await startTestGateway(document);
  other = await startTestGateway(document);
}, 60_000);
afterAll(async () => {
  await Promise.all([gateway?.stop(), other?.stop()]);
  await servers.stop();
});

describe("Sentinel with a primary, a replica and a failover", () => {
  it("E19 B17 no acknowledged todo is lost when the primary dies between sends, and streams and claims go on", async () => {
    const token = await gateway.vend();
    const senders = [senderOf(gateway.url, token), senderOf(other.url, token)];
    const [sender, viewer] = senders as [(typeof senders)[0], (typeof senders)[0]];
    const worker = workerOf(other.url, await gateway.vendWorker());
    const watched = await sender.send("watched");
    const streams = [sender, viewer].map(
      ({ client }) => new Reading((signal) => client.subscribeToTask({ id: watched.id }, { signal })),
    );
    for (const stream of streams) await stream.until("task SUBMITTED");

    const acknowledged = new Map<string, string>([[watched.id, "watched"]]);
    const refused: unknown[] = [];
    let stopped = false;
    const flow = senders.flatMap((each, lane) =>
      [0, 1].map(async (strand) => {
        for (let i = 0; !stopped; i += 1) {
          const text = `${lane}-${strand}-${i}`;
          try {
            acknowledged.set((await each.send(text)).id, text);
          } catch (error) {
            refused.push(error);
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
        }
      }),
    );
    await eventually("some sends", async () => acknowledged.size > 50);
    const before = acknowledged.size;
    await redis.primary.kill();
    await eventually(
      "the replica is the primary",
      async () => (await redis.primaryPort()) === redis.replica.port,
    );
    // With no replica left nothing may be acknowledged, so the old primary comes back as one.
    await redis.primary.restart();
    await eventually("sends are acknowledged again", async () => acknowledged.size > before + 50, 40_000);
    stopped = true;
    await Promise.all(flow);

    // Whoever was refused was told to try again, and nothing else.
    for (const error of refused) expect(ConnectError.from(error).code).toBe(Code.Unavailable);
    expect(refused.length).toBeGreaterThan(0);
    for (const [id, text] of acknowledged) {
      const task = await viewer.get(id);
      expect(task.history[0]?.parts[0]?.content.value, id).toBe(text);
    }

    // Claims hand each of them out once; what was stored unacknowledged may be among them.
    const claimed = new Set<string>();
    for (;;) {
      const { todo } = await worker.claim({});
      if (todo === undefined) break;
      expect(claimed.has(todo.id), "claimed twice").toBe(false);
      claimed.add(todo.id);
    }
    for (const id of acknowledged.keys()) expect(claimed.has(id), id).toBe(true);
    await worker.complete({ id: watched.id });
    for (const stream of streams) {
      await stream.done;
      expect(stream.briefs).toEqual(["task SUBMITTED", "status WORKING", "status COMPLETED"]);
    }
  }, 90_000);

  it("while too few replicas hold a change it is refused as unavailable, and the same message sent again is found", async () => {
    const sender = senderOf(gateway.url, await gateway.vend());
    const follower = (await redis.primaryPort()) === redis.primary.port ? redis.replica : redis.primary;
    await eventually("sends are acknowledged", () => sender.send("warm up").then(() => true));
    await follower.kill();
    const message = { messageId: "once" };
    await expect(sender.send("not copied", { message })).rejects.toMatchObject({ code: Code.Unavailable });
    await follower.restart();
    const task = await eventually("it is acknowledged", () => sender.send("not copied", { message }), 30_000);
    const { totalSize } = await sender.client.listTasks({});
    expect(totalSize).toBeGreaterThanOrEqual(2);
    const again = await sender.send("not copied", { message });
    expect(again.id).toBe(task.id);
  }, 60_000);

  it("after a failover an operator sees the new primary, every task, and what was done before", async () => {
    const admin = adminOf(other);
    const stats = await admin.stats.getStats({});
    expect(stats.redisMode).toBe(RedisMode.SENTINEL);
    expect(stats.redisServers).toMatchObject([{ appendOnly: true, connectedReplicas: 1 }]);
    expect(stats.replicas).toHaveLength(2);
    const total = stats.agents[0]?.tasks.reduce((sum, { count }) => sum + count, 0n);
    expect(total).toBeGreaterThan(50n);
    expect((await admin.tasks.searchTasks({ pageSize: 200 })).tasks.length).toBeGreaterThan(50);
    const { entries } = await admin.audit.listAuditEntries({ action: "CreateEndpoint" });
    expect(entries.length).toBeGreaterThanOrEqual(2);
  });
});
