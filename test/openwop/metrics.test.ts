import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type OpenWopHost, startOpenWopHost } from "../../examples/openwop-host/host.ts";
import type { RedisConnection } from "../../src/store/connection.ts";
import { agentPrefix } from "../../src/store/keys.ts";
import { RunStore } from "../../src/store/runs.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { scrape, sum } from "../telemetry/scrape.ts";
import { eventually, type Json, RpcClient, sleep } from "./rpc.ts";
import { openwopAgent } from "./setup.ts";

let redis: TestRedis;
let host: OpenWopHost;
const gateways: TestGateway[] = [];

beforeAll(async () => {
  redis = await startTestRedis();
  host = await startOpenWopHost();
});
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.stop();
  host.faults.clear();
  await host.start();
});
afterAll(async () => {
  await host.stop();
  await redis.stop();
});

async function replica(followers: Json = {}): Promise<TestGateway> {
  const gateway = await startTestGateway({
    agents: { slow: openwopAgent(host.url, "slow", { followers }) },
    defaultAgent: "slow",
    redis: { url: redis.server.url },
  });
  gateways.push(gateway);
  return gateway;
}
const begin = async (gateway: TestGateway, token: string) =>
  (await new RpcClient(gateway.url, token).start("x", { configuration: { returnImmediately: true } })).id;

describe("metrics of followers", () => {
  it("docs/operate.md lists each one that is served, and none besides; they are there without an agent too", async () => {
    const gateway = await startTestGateway();
    gateways.push(gateway);
    const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    const served = [...text.matchAll(/^# TYPE (baton_openwop_\S+)/gm)].map(([, name]) => name).sort();
    const page = readFileSync(new URL("../../docs/operate.md", import.meta.url), "utf8");
    const listed = [...page.matchAll(/`(baton_openwop_[a-z_]+)`/g)].map(([, name]) => name).sort();
    expect(served.length).toBe(7);
    expect(listed).toEqual(served);
  });

  it("runs by stream are level; a cut stream is a reconnect; a host that is away shows as age and faults", async () => {
    const gateway = await replica();
    const token = await gateway.vend({});
    await begin(gateway, token);
    await begin(gateway, token);
    const read = async (name: string) =>
      sum(await scrape(gateway.adminUrl), `baton_openwop_${name}`, { agent: "slow" });
    await eventually(() => host.streams.size === 2, "two streams");
    expect(await read("runs_followed")).toBe(2);
    expect(await read("streams_open")).toBe(2);
    expect(await read("oldest_unreconciled_seconds")).toBe(0);
    expect(await read("polls_total")).toBe(0);
    expect(await read("reconnects_total")).toBe(0);
    host.cutStreams();
    await eventually(async () => (await read("reconnects_total")) === 2, "reconnected");
    await eventually(async () => (await read("oldest_unreconciled_seconds")) === 0, "level again");
    const faults = await read("follow_faults_total");
    await host.stop();
    await eventually(async () => (await read("oldest_unreconciled_seconds")) > 0.8, "it is behind");
    expect(await read("follow_faults_total")).toBeGreaterThan(faults);
    await host.start();
    await eventually(async () => (await read("oldest_unreconciled_seconds")) === 0, "level after the outage");
    expect(await read("leases_lost_total")).toBe(0);
    for (const run of host.state.engine.runs.values()) host.state.engine.advance(run);
    await eventually(async () => (await read("runs_followed")) === 0, "they have ended");
    expect(await read("oldest_unreconciled_seconds")).toBe(0);
  }, 30_000);

  it("runs without a stream are polled, and are behind by no more than their pause", async () => {
    const gateway = await replica({ streams: 0 });
    await begin(gateway, await gateway.vend({}));
    const read = async (name: string) => sum(await scrape(gateway.adminUrl), `baton_openwop_${name}`);
    await eventually(async () => (await read("polls_total")) >= 3, "polled");
    expect(await read("streams_open")).toBe(0);
    expect(await read("oldest_unreconciled_seconds")).toBeLessThan(5);
    for (const run of host.state.engine.runs.values()) host.state.engine.advance(run);
    await eventually(async () => (await read("runs_followed")) === 0, "it has ended");
  });

  it("a lease that was lost while its run was followed is counted once", async () => {
    const gateway = await replica();
    const id = await begin(gateway, await gateway.vend({}));
    await eventually(() => host.streams.size === 1, "followed");
    const connection = await redis.connect();
    await new RunStore(connection).release("slow", await holderOf(connection, id), 0, new Map([[id, "1"]]));
    const lost = async () => sum(await scrape(gateway.adminUrl), "baton_openwop_leases_lost_total");
    await eventually(async () => (await lost()) === 1, "it is noticed");
    await sleep(1000);
    expect(await lost()).toBe(1);
  });
});

/** The name of the process that follows a run, from its record. */
async function holderOf(connection: RedisConnection, id: string): Promise<string> {
  const key = `${agentPrefix("slow")}task:${id}`;
  return String(await connection.run(key, ["HGET", key, "rholder"]));
}
