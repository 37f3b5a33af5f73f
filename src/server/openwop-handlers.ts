import { create } from "@bufbuild/protobuf";
import { type AgentCard, TaskPushNotificationConfigSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { markFork } from "../backends/openwop/mark-fork.ts";
import { viewerOf } from "../backends/viewer.ts";
import type { Config } from "../config/schema.ts";
import { BatonError } from "../domain/errors.ts";
import type { Push } from "../push/push.ts";
import type { AgentDirectory } from "../service/agents.ts";
import type { Dispatcher } from "../service/dispatcher.ts";
import { discoveryBlock } from "../service/openwop-discovery.ts";
import { createTaskRecordReader } from "../service/openwop-records.ts";
import type { HttpHandler } from "../transports/http-handler.ts";
import { createProxyHandler } from "../transports/openwop/proxy.ts";
import { createReadSeamHandler } from "../transports/openwop/read-seam.ts";
import { createSampleSeamsHandler } from "../transports/openwop/sample-seams.ts";
import type { OpenWopAgents } from "./openwop-agents.ts";

export interface OpenWopHandlerOptions {
  readonly config: Config;
  readonly dispatcher: Dispatcher;
  readonly agents: AgentDirectory;
  readonly openwop: OpenWopAgents;
  readonly push: Push | undefined;
  cardOf(agent: string): AgentCard | undefined;
  publicUrl(): string;
}

/** The paths that Baton serves in OpenWOP's own name; none where no agent is on a host. */
export function createOpenWopHandlers(options: OpenWopHandlerOptions): HttpHandler[] {
  const { config, dispatcher, agents, openwop, push } = options;
  if (openwop.size === 0) return [];
  const readRecord = createTaskRecordReader({ agents, runs: openwop.runs });
  const handlers: HttpHandler[] = [createReadSeamHandler({ dispatcher, readRecord })];
  if (config.openwop.sampleSeams) {
    handlers.push(
      createSampleSeamsHandler({
        dispatcher,
        readRecord,
        async checkPushUrl(caller, url, signal) {
          if (push === undefined) throw new BatonError("PushNotificationNotSupported", "push is not offered");
          const pushConfig = create(TaskPushNotificationConfigSchema, { url });
          const { agent } = caller;
          await push.registrar.prepare({
            agent,
            caller,
            version: "1.0",
            config: pushConfig,
            path: "",
            signal,
          });
        },
      }),
    );
  }
  const fronted = config.openwop.proxyAgent;
  const link = fronted === undefined ? undefined : openwop.linkOf(fronted);
  if (fronted !== undefined && link !== undefined) {
    handlers.push(
      createProxyHandler({
        dispatcher,
        agent: fronted,
        hostUrl: link.config.url,
        tokenOf: (caller) => link.credentials.token(link.credentials.nameFor(caller)),
        async maySee(caller, runId) {
          if ((await openwop.runs.read(fronted, runId)) === undefined) return true;
          const agent = agents.get(fronted);
          return (await openwop.runs.read(fronted, runId, viewerOf(agent, caller))) !== undefined;
        },
        onFork: (caller, sourceId, fork) => markFork({ link, ...openwop }, sourceId, fork, caller),
        blockOf(major) {
          const card = options.cardOf(fronted);
          if (card === undefined) throw new BatonError("RouteNotFound", "no such agent");
          const prefix = fronted === config.defaultAgent ? "" : `/${encodeURIComponent(fronted)}`;
          const url = `${options.publicUrl()}${prefix}/.well-known/agent-card.json`;
          return discoveryBlock(card, major, url, new Date());
        },
        maxBodyBytes: config.limits.bodyBytes,
      }),
    );
  }
  return handlers;
}
