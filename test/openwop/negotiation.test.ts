import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenWopHost, startOpenWopHost } from "../../examples/openwop-host/host.ts";
import type { RedisConnection } from "../../src/store/connection.ts";
import { negotiationsKey } from "../../src/store/keys.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { RpcClient, sleep } from "./rpc.ts";
import { openwopAgent } from "./setup.ts";

let redis: TestRedis;
let connection: RedisConnection;
let host: OpenWopHost;
let gateway: TestGateway;

beforeAll(async () => {
  redis = await startTestRedis();
  connection = await redis.connect();
  host = await startOpenWopHost();
  gateway = await startTestGateway({
    agents: {
      one: openwopAgent(host.url, "echo", { major: 1 }),
      two: openwopAgent(host.url, "echo", { major: 2 }),
    },
    defaultAgent: "one",
    redis: { url: redis.server.url },
  });
});
afterAll(async () => {
  await gateway.stop();
  await host.stop();
  await redis.stop();
});

/** The records of an agent, as flat text each. */
async function records(agent: string): Promise<Record<string, string>[]> {
  const key = negotiationsKey(agent);
  const reply = await connection.run(key, ["XRANGE", key, "-", "+"]);
  return (reply as [Buffer, Buffer[]][]).map(([, fields]) => {
    const record: Record<string, string> = {};
    for (let i = 0; i < fields.length; i += 2) record[String(fields[i])] = String(fields[i + 1]);
    return record;
  });
}

const legacySend = {
  message: {
    kind: "message",
    messageId: randomUUID(),
    role: "user",
    parts: [{ kind: "text", text: "private words" }],
  },
};

describe("versions (OW-9)", () => {
  it("OW-9 every outcome is recorded once, by the digest of the peer, without content", async () => {
    const token = await gateway.vend({ agent: "one", name: "peer-name" });
    const client = new RpcClient(`${gateway.url}/one`, token);
    await client.start("private words");
    await client.start("private words");
    await new RpcClient(client.url, token, "0.3").call("message/send", legacySend);
    await client.call("GetTask", { id: "x" }, { "a2a-version": "9.9" });
    await sleep(100);
    const found = await records("one");
    expect(
      found.map(({ requested, negotiated, outcome, reason }) => [requested, negotiated, outcome, reason]),
    ).toEqual([
      ["1.0", "1.0", "accepted", "preferred"],
      ["0.3", "0.3", "downgraded", "peer_asked"],
      ["9.9", "", "refused", "version_not_supported"],
    ]);
    expect(new Set(found.map(({ peer }) => peer)).size).toBe(1);
    for (const record of found) {
      expect(Object.keys(record).sort()).toEqual([
        "negotiated",
        "outcome",
        "peer",
        "protocol",
        "reason",
        "requested",
      ]);
    }
    expect(JSON.stringify(found)).not.toMatch(/private|peer-name|sbk_/);
  });

  it("OW-9 nobody is talked down without a credential", async () => {
    const before = (await records("one")).length;
    const answer = await new RpcClient(`${gateway.url}/one`, "sbk_wrong", "0.3").call(
      "message/send",
      legacySend,
    );
    expect(answer.status).toBe(401);
    await sleep(50);
    expect(await records("one")).toHaveLength(before);
  });

  it.each(["0.3", ""])("OW-9 below the minimum version it fails closed: asked for as %j", async (version) => {
    const token = await gateway.vend({ agent: "two" });
    const before = host.state.engine.created;
    const { error } = await new RpcClient(`${gateway.url}/two`, token, version).call(
      "message/send",
      legacySend,
    );
    expect(error.code).toBe(-32009);
    expect(host.state.engine.created).toBe(before);
    await sleep(50);
    expect((await records("two")).at(-1)).toMatchObject({
      outcome: "refused",
      reason: "version_not_supported",
    });
  });
});
