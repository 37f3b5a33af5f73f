import { type OpenWopHost, startOpenWopHost } from "../../examples/openwop-host/host.ts";
import { startTestGateway, type TestGateway, type VendOptions } from "../gateway.ts";
import { type Json, RpcClient } from "./rpc.ts";

export const HOST_KEY = "OPENWOP_TEST_HOST_KEY";
process.env[HOST_KEY] = "host-key-acme";
process.env.OPENWOP_TEST_ADA_KEY = "host-key-ada";
process.env.OPENWOP_TEST_OTHER_KEY = "host-key-other";

/** An agent on a host; quick followers, so that tests need not wait. */
export function openwopAgent(url: string, workflow: string, backend: Json = {}, agent: Json = {}): Json {
  const { followers, ...rest } = backend;
  return {
    backend: {
      kind: "openwop",
      url,
      workflows: [workflow],
      credential: { env: HOST_KEY },
      followers: { leaseSeconds: 1.5, tickSeconds: 0.1, pollSeconds: 0.1, pollCapSeconds: 0.4, ...followers },
      ...rest,
    },
    ...agent,
  };
}

export interface Pair {
  readonly host: OpenWopHost;
  readonly gateway: TestGateway;
  /** A client of an agent, which is named like its workflow. */
  client(agent: string, options?: VendOptions): Promise<RpcClient>;
  stop(): Promise<void>;
}

/** Every workflow that a test may want, as an agent of its name. */
export const WORKFLOWS = [
  "conformance-approval",
  "quorum",
  "named-approver",
  "echo",
  "clarify",
  "external",
  "credential",
  "conversation",
  "slow",
  "timed",
  "fails",
  "paused",
  "journey",
];

/** A host and a gateway in this process, with an agent for each workflow. */
export async function startPair(major: 1 | 2, document: Json = {}, backend: Json = {}): Promise<Pair> {
  const host = await startOpenWopHost();
  const agents = Object.fromEntries(
    WORKFLOWS.map((name) => [name, openwopAgent(host.url, name, { major, ...backend })]),
  );
  const gateway = await startTestGateway({
    agents: { ...agents, ...document.agents },
    defaultAgent: "conformance-approval",
    ...Object.fromEntries(Object.entries(document).filter(([key]) => key !== "agents")),
  });
  return {
    host,
    gateway,
    async client(agent, options = {}) {
      const token = await gateway.vend({ agent, ...options });
      return new RpcClient(agent === "conformance-approval" ? gateway.url : `${gateway.url}/${agent}`, token);
    },
    async stop() {
      await gateway.stop();
      await host.stop();
    },
  };
}
