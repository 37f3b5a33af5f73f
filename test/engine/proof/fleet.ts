/** Two gateway processes on one Redis, and the sizes at which a proof runs. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createClient } from "@connectrpc/connect";
import { EndpointService } from "../../../gen/baton/admin/v1/endpoint_pb.js";
import { SUBMIT_VERBS, type Verb, WORK_VERBS } from "../../../src/domain/caller.ts";
import { connectRedis } from "../../../src/store/connect-redis.ts";
import { freePorts, Servers } from "../../cluster/servers.ts";
import { bearer } from "../client.ts";
import { Rig } from "../rig.ts";

/** `npm run proof:engine` sets it; the rest of the time a slice is enough. */
export const FULL = process.env.BATON_PROOF === "full";

export interface Fleet {
  /** Base URLs of the gateways, each a process. */
  readonly urls: readonly [string, string];
  readonly rig: Rig;
  vend(verbs: readonly Verb[]): Promise<string>;
  stop(): Promise<void>;
}

const MANY = { perSecond: 1_000_000, burst: 1_000_000 };

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
  readonly adminUrl: string;
  readonly adminToken: string;
}

async function startProcess(config: object): Promise<Started> {
  const program = fileURLToPath(new URL("../gateway-process.ts", import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(config)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(() => Promise.reject(new Error("the gateway did not start"))),
  ])) as [string];
  return { child, ...(JSON.parse(line) as Omit<Started, "child">) };
}

export async function startFleet(): Promise<Fleet> {
  const servers = new Servers();
  const [port = 0] = await freePorts(1);
  await servers.start(port, ["--appendonly", "yes"]);
  const url = `redis://127.0.0.1:${port}`;
  const dataDir = await mkdtemp(join(tmpdir(), "baton-"));
  const config = {
    listen: { port: 0 },
    admin: { port: 0, token: "proof-of-the-engine" },
    dataDir,
    redis: { url },
    limits: { perAddress: MANY, perEndpoint: MANY, send: MANY },
    streams: { perEndpoint: 100 },
  };
  const [one, two] = await Promise.all([startProcess(config), startProcess(config)]);
  const redis = await connectRedis({ target: { kind: "single", url } });
  const admin = createClient(EndpointService, bearer(one.adminUrl, one.adminToken));
  return {
    urls: [one.url, two.url],
    rig: new Rig(redis, 50, "default"),
    async vend(verbs) {
      const scope = { queues: ["default"], verbs: [...verbs], streaming: true };
      return (await admin.createEndpoint({ name: "proof", scope })).credential;
    },
    async stop() {
      const ended = [one, two].map(({ child }) => once(child, "exit"));
      for (const { child } of [one, two]) child.kill("SIGTERM");
      await Promise.all(ended);
      await redis.close();
      await servers.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export const SUBMIT = SUBMIT_VERBS;
export const WORK = WORK_VERBS;
