/** Two gateways on one Redis that take friend requests, with what their tests do over and over. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect } from "vitest";
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import { A2AService, Role, type Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RedisConnection } from "../../src/store/connection.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis } from "../redis-server.ts";
import { AUDIENCE, startIssuer, type TestIssuer } from "./issuer.ts";
import { adminOf, ask, bodyOf, identityOf } from "./people.ts";

/** The audience of operators' tokens. */
export const ADMIN_AUDIENCE = `${AUDIENCE}/admin`;

export class Rig {
  readonly issuer: TestIssuer;
  readonly direct: RedisConnection;
  readonly gateway: TestGateway;
  /** Gives a second for the pickup of what is approved here. */
  readonly replica: TestGateway;
  readonly stop: () => Promise<void>;

  constructor(parts: Pick<Rig, "issuer" | "direct" | "gateway" | "replica" | "stop">) {
    this.issuer = parts.issuer;
    this.direct = parts.direct;
    this.gateway = parts.gateway;
    this.replica = parts.replica;
    this.stop = parts.stop;
  }

  get admin() {
    return adminOf(this.gateway);
  }

  get a2a() {
    return createClient(A2AService, createGrpcTransport({ baseUrl: this.gateway.url }));
  }

  get worker() {
    return createClient(WorkerService, createGrpcTransport({ baseUrl: this.gateway.url }));
  }

  /** Forgets every friend request. */
  async clear(): Promise<void> {
    const keys = ((await this.direct.run("", ["KEYS", "baton:{grants}:*"])) as unknown[]).map(String);
    for (const key of keys) await this.direct.run("", ["DEL", key]);
  }

  /** A request that waits for a decision. */
  async asked(
    change: Record<string, unknown> = {},
  ): Promise<{ readonly id: string; readonly token: string }> {
    const { status, json } = await ask(this.gateway, await bodyOf(this.issuer, change));
    expect(status).toBe(202);
    return { id: String(json.request_id), token: String(json.pickup_token) };
  }

  async send(
    token: string,
    metadata: Record<string, string> = {},
    messageId: string = randomUUID(),
  ): Promise<Task> {
    const parts = [{ content: { case: "text" as const, value: "a report" } }];
    const message = { messageId, role: Role.USER, parts };
    const configuration = { returnImmediately: true };
    const { payload } = await this.a2a.sendMessage({ message, metadata, configuration }, withToken(token));
    if (payload.case !== "task") throw new Error("no task");
    return payload.value;
  }
}

export async function startRig(): Promise<Rig> {
  const folder = await mkdtemp(join(tmpdir(), "baton-grants-"));
  const issuer = await startIssuer();
  const redis = await startTestRedis();
  const document = async (pickupSeconds: number) => ({
    redis: { url: redis.server.url },
    identity: await identityOf(issuer, folder),
    onboarding: {
      perAddress: { perSecond: 1000, burst: 1000 },
      pickupSeconds,
      grantableVerbs: ["create_for", "list_todos"],
    },
    leases: { sweepSeconds: 0.1 },
    agents: {
      default: { queues: ["default", "reports"], defaultQueue: "default" },
      hers: { discoverable: true, owner: "hannah" },
    },
    admin: {
      port: 0,
      audience: ADMIN_AUDIENCE,
      people: [
        { name: "hannah", issuer: issuer.issuer, subject: "h" },
        { name: "ivan", issuer: issuer.issuer, subject: "i" },
      ],
    },
  });
  const gateway = await startTestGateway(await document(604_800));
  const replica = await startTestGateway(await document(1));
  return new Rig({
    issuer,
    direct: await redis.connect(),
    gateway,
    replica,
    async stop() {
      await gateway.stop();
      await replica.stop();
      await redis.stop();
      await issuer[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  });
}

export const withToken = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** What a call was refused with. */
export async function refusalOf(
  call: Promise<unknown>,
): Promise<{ readonly code: Code; readonly message: string }> {
  const error = ConnectError.from(
    await call.then(
      () => new Error("went through"),
      (thrown: unknown) => thrown,
    ),
  );
  return { code: error.code, message: error.rawMessage };
}

export async function codeOf(call: Promise<unknown>): Promise<Code> {
  return (await refusalOf(call)).code;
}
