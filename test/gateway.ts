import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { EndpointService } from "../gen/baton/admin/v1/endpoint_pb.js";
import { parseConfig } from "../src/config/load.ts";
import { SUBMIT_VERBS, type Verb, WORK_VERBS } from "../src/domain/caller.ts";
import { type Gateway, startGateway } from "../src/server/gateway.ts";

export interface VendOptions {
  readonly name?: string;
  readonly agent?: string;
  readonly queues?: readonly string[];
  readonly verbs?: readonly Verb[];
  readonly streaming?: boolean;
  readonly push?: boolean;
}

export interface Vendor {
  /** Vends an endpoint through the admin service; answers its credential. Default: may submit and stream. */
  vend(options?: VendOptions): Promise<string>;
  /** Vends an endpoint that may do work and nothing else. */
  vendWorker(options?: VendOptions): Promise<string>;
  /** Revokes the endpoint of a credential that was vended here. */
  revoke(credential: string): Promise<void>;
}

/** A gateway on free ports, with a Redis and a folder of its own. */
export interface TestGateway extends Gateway, Vendor {
  readonly dataDir: string;
}

/** Tests send more than a peer would; those about limits set their own. */
export const UNLIMITED = {
  perAddress: { perSecond: 100_000, burst: 100_000 },
  perEndpoint: { perSecond: 100_000, burst: 100_000 },
  send: { perSecond: 100_000, burst: 100_000 },
};

/**
 * Starts a gateway for a test. `document` is laid over a configuration with free ports; give `redis.url` to share a
 * Redis between gateways.
 */
export async function startTestGateway(document: Record<string, unknown> = {}): Promise<TestGateway> {
  const dataDir = await mkdtemp(join(tmpdir(), "baton-"));
  const clear = () => rm(dataDir, { recursive: true, force: true });
  let gateway: Gateway;
  try {
    gateway = await startGateway(
      parseConfig({ listen: { port: 0 }, admin: { port: 0 }, dataDir, limits: UNLIMITED, ...document }),
    );
  } catch (error) {
    await clear();
    throw error;
  }
  return {
    ...gateway,
    get openStreams() {
      return gateway.openStreams;
    },
    dataDir,
    ...createVendor(gateway.adminUrl, gateway.adminToken),
    async stop(graceMs = 2000) {
      await gateway.stop(graceMs);
      await clear();
    },
  };
}

/** Vends credentials at the admin service of a gateway, in this process or another. */
export function createVendor(adminUrl: string, adminToken: string): Vendor {
  const admin = createClient(
    EndpointService,
    createGrpcTransport({
      baseUrl: adminUrl,
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", `Bearer ${adminToken}`);
          return next(request);
        },
      ],
    }),
  );
  const endpoints = new Map<string, string>();
  const vend = async (options: VendOptions = {}): Promise<string> => {
    const { credential, endpoint } = await admin.createEndpoint({
      name: options.name ?? "test",
      agent: options.agent ?? "",
      scope: {
        queues: [...(options.queues ?? ["default"])],
        verbs: [...(options.verbs ?? SUBMIT_VERBS)],
        streaming: options.streaming ?? true,
        push: options.push ?? false,
      },
    });
    endpoints.set(credential, endpoint?.id ?? "");
    return credential;
  };
  return {
    vend,
    vendWorker: (options = {}) => vend({ name: "worker", verbs: WORK_VERBS, ...options }),
    async revoke(credential) {
      await admin.revokeEndpoint({ id: endpoints.get(credential) ?? "" });
    },
  };
}
