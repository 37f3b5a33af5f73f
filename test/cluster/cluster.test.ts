import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisMode } from "../../gen/baton/admin/v1/stats_pb.js";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { keySlot } from "../../src/store/key-slot.ts";
import { agentPrefix } from "../../src/store/keys.ts";
import { adminOf } from "../admin/rig.ts";
import { agentSays, Reading, type Sender, senderOf, workerOf } from "../engine/client.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { eventually, moveSlot, type Server, Servers, startCluster, type TestCluster } from "./servers.ts";

/** An agent whose keys lie in the given third of the slots. */
function agentOn(master: number): string {
  for (let i = 0; ; i += 1) {
    const name = `agent${i}`;
    if (Math.floor(keySlot(agentPrefix(name)) / 5461.34) === master) return name;
  }
}

const AGENTS = [agentOn(0), agentOn(1), agentOn(2)] as const;
const [A, B, C] = AGENTS;

const servers = new Servers();
let cluster: TestCluster;
let gateway: TestGateway;
let other: TestGateway;

/** A sender on both gateways, with one credential, and a worker. */
async function actors(agent: string) {
  const [token, work] = await Promise.all([gateway.vend({ agent }), gateway.vendWorker({ agent })]);
  return {
    sender: senderOf(gateway.url, token),
    viewer: senderOf(other.url, token),
    worker: workerOf(gateway.url, work),
  };
}

function watch({ client }: Sender, id: string): Reading {
  return new Reading((signal) => client.subscribeToTask({ id }, { signal }));
}

beforeAll(async () => {
  cluster = await startCluster(servers);
  const document = {
    redis: { cluster: { nodes: cluster.nodes.slice(0, 2) } },
    agents: Object.fromEntries(AGENTS.map((name) => [name, {}])),
    defaultAgent: A,
    streams: { perEndpoint: 50 },
  };
  gateway = await startTestGateway(document);
  other = await startTestGateway(document);
}, 60_000);
afterAll(async () => {
  await Promise.all([gateway?.stop(), other?.stop()]);
  await servers.stop();
});

describe("a Redis Cluster of three masters", () => {
  it("keySlot is that of the server", async () => {
    for (const key of ["", "foo", "{a}b", "a{}b", "baton:{x}:task:{y}", "é{ü}"]) {
      expect(await cluster.masters[0]?.ask("CLUSTER", "KEYSLOT", key), key).toBe(keySlot(key));
    }
  });

  it.each(AGENTS)("B16 the whole flow of %s runs on the master that owns it", async (agent) => {
    const { sender, worker } = await actors(agent);
    const task = await sender.send("build it");
    const stranger = senderOf(other.url, await gateway.vend({ agent }));
    const stream = watch(sender, task.id);
    await stream.until("task SUBMITTED");
    const claimed = await worker.claim({});
    expect(claimed.todo?.id).toBe(task.id);
    await worker.requireInput({ id: task.id, message: agentSays("which one?") });
    await sender.send("that one", { message: { taskId: task.id } });
    const again = watch(sender, task.id);
    await again.until("task WORKING");
    await worker.addArtifact({
      id: task.id,
      artifact: { artifactId: "a1", parts: [{ content: { case: "text", value: "done" } }] },
    });
    await worker.complete({ id: task.id });
    await Promise.all([stream.done, again.done]);
    expect(stream.briefs).toEqual(["task SUBMITTED", "status WORKING", "status INPUT_REQUIRED"]);
    expect(again.briefs).toEqual(["task WORKING", "artifact a1", "status COMPLETED"]);
    const second = await sender.send("stop it");
    await sender.client.cancelTask({ id: second.id });
    const page = await sender.client.listTasks({ pageSize: 1 });
    expect(page.totalSize).toBe(2);
    expect(page.tasks.map(({ id }) => id)).toEqual([second.id]);
    const rest = await sender.client.listTasks({ pageSize: 1, pageToken: page.nextPageToken });
    expect(rest.tasks.map(({ id }) => id)).toEqual([task.id]);
    await expect(stranger.get(task.id)).rejects.toMatchObject({ rawMessage: "task not found" });
    // Where it is: only the owner has keys of the agent.
    const index = AGENTS.indexOf(agent as (typeof AGENTS)[number]);
    for (const [at, master] of cluster.masters.entries()) {
      const keys = (await master.ask("KEYS", `baton:{${agent}}:task:*`)) as unknown[];
      expect(keys.length > 0, `master ${at}`).toBe(at === index);
    }
  });

  it("an operator sees the tasks of all masters as one, and the servers that hold them", async () => {
    const sent: string[] = [];
    for (const agent of AGENTS) sent.unshift((await (await actors(agent)).sender.send("seen")).id);
    const admin = adminOf(other);
    const found = await admin.tasks.searchTasks({ pageSize: 2 });
    const rest = await admin.tasks.searchTasks({ pageSize: 2, pageToken: found.nextPageToken });
    expect([...found.tasks, ...rest.tasks].slice(0, 3).map(({ id }) => id)).toEqual(sent);
    const stats = await admin.stats.getStats({});
    expect(stats.redisMode).toBe(RedisMode.CLUSTER);
    expect(stats.redisServers).toHaveLength(3);
    expect(stats.replicas).toHaveLength(2);
    await admin.tasks.cancelTask({ agent: C, id: sent[0] ?? "" });
    const { entries } = await adminOf(gateway).audit.listAuditEntries({ target: sent[0] ?? "" });
    expect(entries).toHaveLength(1);
    expect((await admin.queues.listWorkers({ agent: A })).workers.length).toBeGreaterThan(0);
    for (const agent of [A, B]) {
      const { tasks } = await admin.tasks.searchTasks({ agent, states: [TaskState.SUBMITTED] });
      for (const { id } of tasks) await admin.tasks.cancelTask({ agent, id });
    }
  });

  it("E19 a slot that moves to another master takes its streams along", async () => {
    const { sender, viewer, worker } = await actors(B);
    const task = await sender.send("survive the move");
    const streams = [watch(sender, task.id), watch(viewer, task.id)];
    for (const stream of streams) await stream.until("task SUBMITTED");
    const [, from, to] = cluster.masters as [Server, Server, Server];
    await moveSlot(keySlot(agentPrefix(B)), from, to);
    await worker.claim({});
    // Faster than the log is looked at by itself, so it came over the channel.
    for (const stream of streams) await stream.until("status WORKING", 6000);
    await worker.complete({ id: task.id });
    for (const stream of streams) {
      await stream.done;
      expect(stream.briefs).toEqual(["task SUBMITTED", "status WORKING", "status COMPLETED"]);
    }
  });

  it("calls for a slot that is half moved wait for its other half: none is answered from what is there, none is lost", async () => {
    const { sender, viewer, worker } = await actors(B);
    const tasks = await Promise.all(["a", "b", "c", "d"].map((text) => sender.send(text)));
    for (const { id } of tasks) await viewer.get(id);
    const holds = async (master: Server) =>
      ((await master.ask("KEYS", `baton:{${B}}:*`)) as unknown[]).length > 0;
    const [, first, second] = cluster.masters as [Server, Server, Server];
    const [from, to] = (await holds(first)) ? [first, second] : [second, first];
    const calls: Promise<unknown>[] = [];
    let ended = 0;
    await moveSlot(keySlot(agentPrefix(B)), from, to, async () => {
      for (const { id } of tasks) calls.push(sender.get(id), viewer.get(id));
      calls.push(worker.claim({}), viewer.client.listTasks({}), sender.send("sent amid"));
      for (const call of calls)
        call.then(
          () => (ended += 1),
          () => (ended += 1),
        );
      await new Promise((resolve) => setTimeout(resolve, 1000));
      expect(ended).toBe(0);
    });
    const answers = await Promise.all(calls);
    expect(answers.slice(0, 8).map((task) => (task as Task).id)).toEqual(tasks.flatMap(({ id }) => [id, id]));
    const { totalSize } = await viewer.client.listTasks({});
    expect(totalSize).toBeGreaterThanOrEqual(tasks.length + 1);
    expect(await holds(from)).toBe(false);
    const claimed = new Set([(answers[8] as { todo?: { id: string } }).todo?.id]);
    for (let n = 0; n < tasks.length; n += 1) claimed.add((await worker.claim({})).todo?.id);
    expect(tasks.filter(({ id }) => !claimed.has(id))).toEqual([]);
  });

  it("E19 B17 when a master dies, its replica takes over: streams, claims and sends go on", async () => {
    const { sender, viewer, worker } = await actors(A);
    const elsewhere = await actors(C);
    const task = await sender.send("survive the death");
    const streams = [watch(sender, task.id), watch(viewer, task.id)];
    const far = await elsewhere.sender.send("elsewhere");
    const farStream = watch(elsewhere.sender, far.id);
    for (const stream of [...streams, farStream]) await stream.until("task SUBMITTED");
    await cluster.masters[0]?.kill();
    // The other shards are not touched by it.
    await elsewhere.worker.claim({});
    await farStream.until("status WORKING");
    await eventually("the replica leads", async () =>
      String(await cluster.replica.ask("ROLE")).startsWith("master"),
    );
    const claimed = await eventually("a claim goes through", async () => (await worker.claim({})).todo);
    expect(claimed.id).toBe(task.id);
    for (const stream of streams) await stream.until("status WORKING");
    await worker.complete({ id: task.id });
    for (const stream of streams) {
      await stream.done;
      expect(stream.briefs).toEqual(["task SUBMITTED", "status WORKING", "status COMPLETED"]);
    }
    const after = await sender.send("after");
    expect(await sender.state(after.id)).toBe("SUBMITTED");
  }, 60_000);
});
