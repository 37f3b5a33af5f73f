/** Pushes where Redis is a cluster or has a failover: BullMQ's keys are in one slot, and a push outlives a primary. */
import { afterEach, describe, expect, it } from "vitest";
import { keySlot } from "../../src/store/key-slot.ts";
import { agentPrefix } from "../../src/store/keys.ts";
import { type PushGateway, startPushGateway } from "../push/gateway.ts";
import { type PushReceiver, respond, startPushReceiver } from "../push/receiver.ts";
import { SECRET_KEY } from "../push/rig.ts";
import { eventually, Servers, startCluster, startSentinel } from "./servers.ts";

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

function masterOf(key: string): number {
  return Math.floor(keySlot(key) / 5461.34);
}

/** An agent whose keys lie on the given master. */
function agentOn(master: number): string {
  for (let i = 0; ; i += 1) if (masterOf(agentPrefix(`agent${i}`)) === master) return `agent${i}`;
}

async function receiver(...args: Parameters<typeof startPushReceiver>): Promise<PushReceiver> {
  const made = await startPushReceiver(...args);
  open.push(() => made.close());
  return made;
}

function servers(): Servers {
  const made = new Servers();
  open.push(() => made.stop());
  return made;
}

async function replicas(document: Record<string, unknown>): Promise<readonly [PushGateway, PushGateway]> {
  const start = async () => {
    const gateway = await startPushGateway(
      { secretKey: SECRET_KEY, attempts: 30, capSeconds: 0.5 },
      document,
    );
    open.push(() => gateway.stop());
    return gateway;
  };
  return [await start(), await start()];
}

/** The sequences that came for a task, without repetitions; fails where one came before its predecessor. */
function sequences(hook: PushReceiver, taskId: string): number[] {
  const seen: number[] = [];
  for (const { seq, headers } of hook.hits) {
    if (!String(headers["a2a-notification-id"]).startsWith(`${taskId}/`)) continue;
    const last = seen.at(-1) ?? 0;
    expect(seq, `${taskId}: ${seq} came after ${last}`).toBeLessThanOrEqual(last + 1);
    if (seq > last) seen.push(seq);
  }
  return seen;
}

describe("on a Redis Cluster of three masters", () => {
  it("B16 SB-76 pushes of agents on every master arrive in order, and go on when a master dies under them", async () => {
    const cluster = await startCluster(servers());
    const agents = [0, 1, 2].map(agentOn);
    const [one, two] = await replicas({
      redis: { cluster: { nodes: cluster.nodes.slice(0, 2) } },
      agents: Object.fromEntries(agents.map((name) => [name, {}])),
      defaultAgent: agents[0],
    });
    const hook = await receiver();
    const begin = async (agent: string) => {
      const [client, worker] = [await one.vend({ agent, push: true }), await two.vendWorker({ agent })];
      const { result } = await one.send(client, {
        taskPushNotificationConfig: { url: hook.url, token: "t" },
      });
      return { agent, worker, id: result.task.id as string };
    };
    const tasks = await Promise.all(agents.map(begin));
    const act = async (task: (typeof tasks)[number], method: string, more: object = {}) => {
      await eventually(
        `${method} on ${task.agent}`,
        async () => (await two.work(task.worker, method, { id: task.id, ...more })).ok,
      );
    };
    for (const task of tasks) {
      await act(task, "ClaimById");
      await act(task, "AddArtifact", { artifact: { artifactId: "a", parts: [{ text: "x" }] } });
    }
    for (const { id } of tasks)
      await eventually("three pushes", async () => sequences(hook, id).length === 3);

    // The queue is one script's worth of keys: all on the master that its hash tag names.
    const home = masterOf("{baton-push}:lanes");
    for (const [at, master] of cluster.masters.entries()) {
      const keys = (await master.ask("KEYS", "{baton-push}:*")) as unknown[];
      expect(keys.length > 0, `master ${at}`).toBe(at === home);
    }

    // A push of the first agent waits for its receiver when the agent's master is killed.
    hook.answer = respond(503);
    for (const task of tasks)
      await act(task, "AddArtifact", { artifact: { artifactId: "b", parts: [{ text: "y" }] } });
    await eventually("an attempt", async () => sequences(hook, tasks[0]?.id ?? "").includes(4));
    await cluster.masters[0]?.kill();
    hook.answer = respond(204);
    await eventually("the replica leads", async () =>
      String(await cluster.replica.ask("ROLE")).startsWith("master"),
    );
    for (const task of tasks) await act(task, "Complete");
    for (const { id } of tasks) {
      await eventually("all pushes", async () => sequences(hook, id).join() === "1,2,3,4,5");
    }
  }, 90_000);
});

describe("behind Redis Sentinel", () => {
  it("B17 SB-76 every push of an acknowledged send arrives, though the primary dies amid deliveries", async () => {
    const redis = await startSentinel(servers());
    const [one, two] = await replicas({
      redis: {
        sentinel: { name: redis.name, nodes: redis.sentinels },
        waitReplicas: 1,
        waitMilliseconds: 500,
      },
    });
    const hook = await receiver();
    const client = await one.vend({ push: true });
    const acknowledged: string[] = [];
    let refused = 0;
    let stopped = false;
    const flow = [one, two].map(async (gateway) => {
      while (!stopped) {
        const answer = await gateway.send(client, {
          taskPushNotificationConfig: { url: hook.url, token: "t" },
        });
        const id = answer.result?.task?.id;
        if (id === undefined) {
          refused += 1;
          await new Promise((resolve) => setTimeout(resolve, 50));
        } else acknowledged.push(id);
      }
    });
    await eventually("some pushes", async () => hook.hits.length > 20);
    await redis.primary.kill();
    await eventually(
      "the replica is the primary",
      async () => (await redis.primaryPort()) === redis.replica.port,
    );
    await redis.primary.restart();
    const before = acknowledged.length;
    await eventually("sends after the failover", async () => acknowledged.length > before + 20);
    stopped = true;
    await Promise.all(flow);
    await eventually("every push", async () => {
      const came = new Set(
        hook.hits.map(({ headers }) => String(headers["a2a-notification-id"]).split("/")[0]),
      );
      return acknowledged.every((id) => came.has(id));
    });
    // The primary was away while clients sent, or nothing was tried here.
    expect(refused).toBeGreaterThan(0);
  }, 90_000);
});
