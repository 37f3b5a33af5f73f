/** Host and gateway in processes of their own, so that they can be killed, and share nothing but the network. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { EndpointService } from "../../gen/baton/admin/v1/endpoint_pb.js";
import { SUBMIT_VERBS } from "../../src/domain/caller.ts";
import { type Json, sleep } from "./rpc.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const ADMIN_TOKEN = "admin-token-of-the-tests";

export interface HostProcess {
  readonly url: string;
  control(verb: string, body?: Json): Promise<Json>;
  stop(): Promise<void>;
}

function lines(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let text = "";
    const read = (chunk: Buffer) => {
      text += chunk.toString();
      const match = pattern.exec(text);
      if (match !== null) resolve(match);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("exit", (code) => reject(new Error(`ended with ${code}: ${text.slice(-2000)}`)));
  });
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}

export async function startHostProcess(): Promise<HostProcess> {
  const child = spawn(process.execPath, ["examples/openwop-host/main.ts", "0"], { cwd: ROOT });
  const match = await lines(child, /openwop host at (\S+)\n/);
  const url = match[1] ?? "";
  return {
    url,
    async control(verb, body = {}) {
      for (let attempt = 0; ; attempt++) {
        try {
          const response = await fetch(`${url}/_control/${verb}`, {
            method: "POST",
            body: JSON.stringify(body),
          });
          return await response.json();
        } catch (error) {
          // The host may be in an outage that the test asked for.
          if (attempt === 50) throw error;
          await sleep(50);
        }
      }
    },
    stop: () => end(child, "SIGTERM"),
  };
}

export interface GatewayProcess {
  readonly url: string;
  readonly pid: number;
  vend(
    agent: string,
    options?: { readonly name?: string; readonly push?: boolean; readonly streaming?: boolean },
  ): Promise<string>;
  /** `kill -9`. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts `baton serve` on a free port with a configuration document. */
export async function startGatewayProcess(document: Json): Promise<GatewayProcess> {
  const folder = await mkdtemp(join(tmpdir(), "baton-"));
  const file = join(folder, "baton.yaml");
  const unlimited = { perSecond: 100_000, burst: 100_000 };
  const config = {
    listen: { port: 0 },
    admin: { port: 0, token: ADMIN_TOKEN },
    dataDir: join(folder, "data"),
    limits: { perAddress: unlimited, perEndpoint: unlimited, send: unlimited },
    ...document,
  };
  await writeFile(file, JSON.stringify(config));
  const child = spawn(
    process.execPath,
    ["src/cli/main.ts", "serve", "--config", file, "--json", "--grace", "2s"],
    {
      cwd: ROOT,
      env: {
        ...process.env,
        OPENWOP_TEST_HOST_KEY: "host-key-acme",
        OPENWOP_TEST_ADA_KEY: "host-key-ada",
        OPENWOP_TEST_OTHER_KEY: "host-key-other",
      },
    },
  );
  const [, url = "", adminUrl = ""] = await lines(child, /"url":"([^"]+)","adminUrl":"([^"]+)"/);
  const admin = createClient(
    EndpointService,
    createGrpcTransport({
      baseUrl: adminUrl,
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", `Bearer ${ADMIN_TOKEN}`);
          return next(request);
        },
      ],
    }),
  );
  const clean = () => rm(folder, { recursive: true, force: true });
  return {
    url,
    pid: child.pid ?? 0,
    async vend(agent, options = {}) {
      const { credential } = await admin.createEndpoint({
        name: options.name ?? "test",
        agent,
        scope: {
          queues: ["default"],
          verbs: [...SUBMIT_VERBS],
          streaming: options.streaming ?? true,
          push: options.push ?? false,
        },
      });
      return credential;
    },
    async kill() {
      await end(child, "SIGKILL");
      await clean();
    },
    async stop() {
      await end(child, "SIGTERM");
      await clean();
    },
  };
}
