import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { EndpointService } from "../../../gen/baton/admin/v1/endpoint_pb.js";
import { parseConfig } from "../../config/load.ts";
import { SUBMIT_VERBS, type Verb, WORK_VERBS } from "../../domain/caller.ts";
import { startGateway } from "../../server/gateway.ts";
import { type Outcome, Worker } from "../../worker/index.ts";
import { connect } from "../client-options.ts";
import { type Bindings, openBindings } from "./bindings.ts";
import { demoHandler } from "./handler.ts";

/** Everything that the demo runs on. */
export interface Stage {
  readonly url: string;
  readonly bindings: Bindings;
  /** What the worker reported of each task, by task id. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** Undoes everything; safe to call again. */
  clear(): Promise<void>;
}

/** Starts a gateway with its own Redis, a worker, and clients, in a folder that goes with them. */
export async function setStage(): Promise<Stage> {
  const undo: (() => Promise<void> | void)[] = [];
  const clear = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const dataDir = await mkdtemp(join(tmpdir(), "baton-demo-"));
    undo.push(() => rm(dataDir, { recursive: true, force: true }));
    const config = parseConfig({ listen: { port: 0 }, admin: { port: 0 }, dataDir });
    const gateway = await startGateway(config);
    undo.push(() => gateway.stop(1000));

    const admin = connect(gateway.adminUrl, gateway.adminToken);
    undo.push(() => admin.close());
    const endpoints = createClient(EndpointService, admin.transport);
    const vend = async (name: string, verbs: readonly Verb[]) => {
      const scope = { queues: ["default"], verbs: [...verbs], streaming: true, push: false };
      return (await endpoints.createEndpoint({ name, scope })).credential;
    };

    const outcomes = new Map<string, Outcome>();
    const worker = new Worker({
      url: gateway.url,
      credential: await vend("worker", WORK_VERBS),
      handler: demoHandler,
      concurrency: 2,
      stopGrace: 0,
      onOutcome: (outcome, { id }) => outcomes.set(id, outcome),
    });
    worker.start();
    undo.push(() => worker.stop());

    const bindings = openBindings(gateway.url, await vend("client", SUBMIT_VERBS));
    undo.push(() => bindings.close());
    return { url: gateway.url, bindings, outcomes, clear };
  } catch (error) {
    await clear();
    throw error;
  }
}
