import { afterAll, beforeAll, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { connectRedis } from "../../src/store/connect-redis.ts";
import type { RedisConnection } from "../../src/store/connection.ts";
import { keySlot } from "../../src/store/key-slot.ts";
import { agentPrefix } from "../../src/store/keys.ts";
import { moveSlot, type Server, Servers, startCluster, type TestCluster } from "../cluster/servers.ts";
import { holder, Rig } from "../engine/rig.ts";

const servers = new Servers();
let cluster: TestCluster;
let connections: readonly RedisConnection[];
beforeAll(async () => {
  cluster = await startCluster(servers);
  const target = { kind: "cluster", nodes: cluster.nodes.slice(0, 2) } as const;
  connections = await Promise.all([connectRedis({ target }), connectRedis({ target })]);
}, 60_000);
afterAll(async () => {
  await Promise.all((connections ?? []).map((connection) => connection.close()));
  await servers.stop();
});

it("SB-45 E19 tasks of agents on all masters are read again in one turn, and after a slot has moved", async () => {
  const [here, there] = connections as [RedisConnection, RedisConnection];
  const masters = cluster.masters as [Server, Server, Server];
  const worker = holder("worker");
  const replicas = Array.from({ length: 6 }, () => {
    const writer = new Rig(here);
    return { writer, reader: new Rig(there, 50, writer.agent) };
  });
  const slots = replicas.map(({ writer }) => keySlot(agentPrefix(writer.agent)));
  const masterOf = (slot: number) => Math.floor(slot / 5461.34);
  expect(new Set(slots.map(masterOf)).size).toBeGreaterThan(1);
  const ids = await Promise.all(replicas.map(({ writer }) => writer.todo()));
  const readAll = () => Promise.all(replicas.map(({ reader }, index) => reader.task(ids[index] ?? "")));
  const first = await readAll();
  const same = await readAll();
  for (const [index, snapshot] of same.entries()) expect(snapshot).toBe(first[index]);

  const [slot = 0] = slots;
  const from = masterOf(slot);
  await moveSlot(slot, masters[from] as Server, masters[(from + 1) % 3] as Server);
  // Its old master answers the check with where it is now.
  for (const [index, snapshot] of (await readAll()).entries()) expect(snapshot).toBe(first[index]);
  for (const [index, { writer }] of replicas.entries()) await writer.take(worker, ids[index] ?? "");
  for (const snapshot of await readAll()) expect(snapshot.state).toBe(TaskState.WORKING);
});
