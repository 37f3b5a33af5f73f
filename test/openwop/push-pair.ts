/** A host and a gateway with push in front of it, in processes of their own, and receivers for what it sends. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { type PushReceiver, respond, startPushReceiver, testAuthority } from "../push/receiver.ts";
import { QUICK } from "../push/rig.ts";
import { type GatewayProcess, type HostProcess, startGatewayProcess, startHostProcess } from "./processes.ts";
import { eventually, type Json, type RpcAnswer, RpcClient } from "./rpc.ts";
import { openwopAgent } from "./setup.ts";

type DriverInit = RequestInit & { readonly key?: string };

export interface PushPair {
  readonly host: HostProcess;
  readonly gateway: GatewayProcess;
  /** An endpoint of the fronted agent, with push. */
  readonly suite: RpcClient;
  /** The configuration of a gateway before this host. */
  document(extra?: Json): Json;
  receiver(answer?: ReturnType<typeof respond>): Promise<PushReceiver>;
  /** A call through the pass-through, in the form of the host's major. */
  driver(path: string, init?: DriverInit): Promise<{ status: number; body: Json }>;
  register(taskId: string, config: Json): Promise<RpcAnswer>;
  accept(taskId: string): Promise<RpcAnswer>;
  fork(taskId: string, body: Json): Promise<{ status: number; body: Json }>;
  /** A completed task, with a push config from before its end. */
  completed(config?: Json): Promise<Json>;
  stop(): Promise<void>;
}

export const runPath = (id: string): string => `/runs/${encodeURIComponent(id)}`;
export const bearer = (credentials: string): Json => ({ authentication: { scheme: "Bearer", credentials } });

/** Waits for the push of a completed task's end, which is its last; answers how many pushes there were. */
export async function lastPush(hook: PushReceiver): Promise<number> {
  await eventually(
    () => hook.hits.some(({ body }) => body.includes("TASK_STATE_COMPLETED")),
    "the last push",
  );
  return hook.hits.length;
}

export async function startPushPair(major: 1 | 2): Promise<PushPair> {
  const folder = mkdtempSync(join(tmpdir(), "baton-ca-"));
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, testAuthority().ca);
  const receivers: PushReceiver[] = [];
  const host = await startHostProcess();
  const document: PushPair["document"] = (extra = {}) => ({
    agents: { fronted: openwopAgent(host.url, "conformance-approval", { major }) },
    defaultAgent: "fronted",
    openwop: { proxyAgent: "fronted" },
    ...extra,
  });
  const gateway = await startGatewayProcess(document({ push: { ...QUICK, caFiles: [caFile] } }));
  const suite = new RpcClient(gateway.url, await gateway.vend("fronted", { push: true }));

  const pair: PushPair = {
    host,
    gateway,
    suite,
    document,
    async receiver(answer = respond(204)) {
      const made = await startPushReceiver({ answer });
      receivers.push(made);
      return made;
    },
    async driver(path, { key = suite.token, ...init } = {}) {
      const response = await fetch(`${gateway.url}${major === 1 ? "/v1" : ""}${path}`, {
        ...init,
        headers: {
          ...(major === 2 ? { "OpenWOP-Version": "2.0" } : {}),
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
        },
      });
      return { status: response.status, body: await response.json() };
    },
    register: (taskId, config) => suite.call("CreateTaskPushNotificationConfig", { taskId, ...config }),
    accept: (taskId) => suite.decide(taskId, { action: "accept" }),
    fork: (taskId, body) =>
      pair.driver(`${runPath(taskId)}:fork`, { method: "POST", body: JSON.stringify(body) }),
    async completed(config) {
      const task = await suite.start();
      if (config !== undefined) expect((await pair.register(task.id, config)).error).toBeUndefined();
      await pair.accept(task.id);
      return suite.until(task.id, "TASK_STATE_COMPLETED");
    },
    async stop() {
      for (const receiver of receivers) await receiver.close();
      await gateway.stop();
      await host.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return pair;
}
