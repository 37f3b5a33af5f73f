/** One role a process: together they are one gateway, and each opens what it needs and nothing else. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import { ROLES } from "../../src/config/schema.ts";
import type { RedisConnection } from "../../src/store/connection.ts";
import { runCli, type ServeProcess, startServe } from "../cli/processes.ts";
import { createVendor } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { Peer, TestWorker, workerTransport } from "../scenarios/actors.ts";
import { jsonRpcDriver } from "../scenarios/drivers/jsonrpc.ts";

const ADMIN_TOKEN = "admin-token-for-tests-only";

let folder: string;
let redis: TestRedis;
let store: RedisConnection;
const running: ServeProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-roles-"));
  redis = await startTestRedis();
  store = await redis.connect();
  const config = {
    leases: { sweepSeconds: 0.2 },
    retention: { terminalSeconds: 1 },
    push: { secretKey: Buffer.alloc(32, 7).toString("base64") },
  };
  await writeFile(join(folder, "baton.yaml"), JSON.stringify(config));
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((serve) => serve.end("SIGTERM")));
});
afterAll(async () => {
  await redis?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

const env = () => ({ BATON_ADMIN_TOKEN: ADMIN_TOKEN, BATON_REDIS_URL: redis.server.url });

async function serve(roles: string): Promise<ServeProcess> {
  const started = await startServe(join(folder, roles), {
    cwd: folder,
    env: { ...env(), BATON_ROLES: roles },
  });
  running.push(started);
  return started;
}

/** Connections of BullMQ's consumers, which block for work. */
async function consumers(): Promise<number> {
  const list = String(await store.run("baton:", ["CLIENT", "LIST"]));
  return list.split("\n").filter((line) => / cmd=(bzpopmin|bzpopmax)/.test(line)).length;
}

describe("one role a process", () => {
  it("every role is a process of its own on the command line, with probes, and only one of them serves callers", async () => {
    for (const role of ROLES) {
      const { url, adminUrl, lines } = await serve(role);
      expect(url !== "", role).toBe(role === "gateway");
      expect((await fetch(`${adminUrl}/readyz`)).status, role).toBe(200);
      const { roles } = JSON.parse(await lines.find((line) => line.includes('"adminUrl"'))) as {
        roles: string;
      };
      expect(roles).toBe(role);
    }
  });

  it("only the role push takes work from the push queue", async () => {
    await serve("gateway,followers,sweeper");
    expect(await consumers()).toBe(0);
    await serve("push");
    await expect.poll(consumers, { timeout: 10_000 }).toBeGreaterThan(0);
  });

  it("only the role sweeper does housekeeping: an ended task is kept without it, and goes with it", async () => {
    const gateway = await serve("gateway");
    const vendor = createVendor(gateway.adminUrl, ADMIN_TOKEN);
    const driver = await jsonRpcDriver.connect({ url: gateway.url, authority: new URL(gateway.url).host });
    const peer = new Peer(driver, { token: await vendor.vend() });
    const { id } = await peer.start();
    await new TestWorker(workerTransport(gateway.url, await vendor.vendWorker())).do(id);
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect((await peer.get(id)).id).toBe(id);
    await serve("sweeper");
    await expect
      .poll(
        () =>
          peer.get(id).then(
            () => "there",
            () => "gone",
          ),
        { timeout: 15_000 },
      )
      .toBe("gone");
  });

  it("only the role sweeper ends the open work of an endpoint whose time has come", async () => {
    const gateway = await serve("gateway,push,followers");
    const admin = async (method: string, body: object) => {
      const response = await fetch(`${gateway.adminUrl}/baton.admin.v1.${method}`, {
        method: "POST",
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      // biome-ignore lint/suspicious/noExplicitAny: answers of several methods
      return (await response.json()) as any;
    };
    const { credential } = await admin("EndpointService/CreateEndpoint", {
      name: "short-lived",
      scope: { queues: ["default"], verbs: ["create_for"] },
      expiresAt: new Date(Date.now() + 2000).toISOString(),
    });
    const sent = await fetch(gateway.url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${credential}`,
        "content-type": "application/json",
        "a2a-version": "1.0",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "SendMessage",
        params: {
          message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] },
          configuration: { returnImmediately: true },
        },
      }),
    });
    const { result } = (await sent.json()) as { result: { task: { id: string } } };
    const state = async () =>
      (await admin("TaskService/GetTask", { id: result.task.id })).summary?.state as string;
    await new Promise((resolve) => setTimeout(resolve, 3500));
    expect(await state()).toBe("TASK_STATE_SUBMITTED");
    await serve("sweeper");
    await expect.poll(state, { timeout: 15_000 }).not.toBe("TASK_STATE_SUBMITTED");
  });

  it("a role that does not exist is refused by name", async () => {
    const { code, stderr } = await runCli(["serve", "--roles", "gateway,janitor"], {
      cwd: folder,
      env: env(),
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/roles\.1/);
    expect(() => parseConfig({ roles: [] })).toThrow(/roles/);
    expect(parseConfig({}).roles).toEqual(ROLES);
  });
});
