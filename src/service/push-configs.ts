import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type A2AService,
  ListTaskPushNotificationConfigsResponseSchema,
  type SendMessageRequest,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { viewerOf } from "../backends/viewer.ts";
import { BatonError, invalidParams, pushConfigNotFound } from "../domain/errors.ts";
import { replayIsNotPushed } from "../domain/openwop/fork.ts";
import { listingDigest, openPageToken, sealPageToken } from "../domain/page-token.ts";
import type { Push } from "../push/push.ts";
import type { PushConfigRecord, PushRegistration } from "../store/push-configs.ts";
import { LISTING_MS, type TaskStore } from "../store/tasks.ts";
import type { AgentDirectory } from "./agents.ts";
import type { Call, Handlers } from "./call.ts";

export interface PushConfigsOptions {
  /** Absent: push is not offered, and every operation says so (A2A-101, OW-36). */
  readonly push: Pick<Push, "registrar" | "configs"> | undefined;
  readonly agents: AgentDirectory;
  readonly tasks: TaskStore;
  readonly pageTokenSecret: Buffer;
}

type Operations = Pick<
  Handlers<typeof A2AService>,
  | "createTaskPushNotificationConfig"
  | "getTaskPushNotificationConfig"
  | "listTaskPushNotificationConfigs"
  | "deleteTaskPushNotificationConfig"
>;

export interface PushConfigHandlers extends Operations {
  /**
   * The config that a send brings with it, checked and ready to be stored with the task (A2A-40, OW-57); undefined
   * where there is none. Throws PushNotificationNotSupported where push is not offered (A2A-41).
   */
  fromSend(request: SendMessageRequest, call: Call): Promise<PushRegistration | undefined>;
}

const MAX_PAGE = 100;

/** The four operations on push configs. Whatever a caller may not see is answered as not existing (OW-54, SB-75). */
export function createPushConfigHandlers(options: PushConfigsOptions): PushConfigHandlers {
  const { agents, tasks } = options;

  function offered(call: Call): Pick<Push, "registrar" | "configs"> {
    if (options.push === undefined || !call.caller.capabilities.push) {
      throw new BatonError(
        "PushNotificationNotSupported",
        "push notifications are not offered to this endpoint",
      );
    }
    return options.push;
  }

  const viewer = (call: Call) => viewerOf(agents.get(call.agent), call.caller);

  async function ownConfigs(call: Call, taskId: string): Promise<PushConfigRecord[]> {
    const configs = await offered(call).configs.list(call.agent, taskId, viewer(call));
    if (configs === undefined) throw pushConfigNotFound();
    return configs;
  }

  function prepare(call: Call, config: TaskPushNotificationConfig, path: string): Promise<PushRegistration> {
    const { agent, caller, version, signal, trace } = call;
    return offered(call).registrar.prepare({
      agent,
      caller,
      version,
      config,
      path,
      signal,
      ...(trace === undefined ? {} : { traceparent: trace.traceparent }),
    });
  }

  return {
    async createTaskPushNotificationConfig(request, call) {
      const { configs } = offered(call);
      const { taskId } = request;
      if (taskId.trim() === "") throw invalidParams({ field: "taskId", description: "must not be blank" });
      // Before the url is looked at, so that a hidden task and an unknown one cost and answer the same.
      const shape = { historyLength: 0, includeArtifacts: false };
      if ((await tasks.read(call.agent, taskId, viewer(call), shape)) === undefined)
        throw pushConfigNotFound();
      const registration = await prepare(call, request, "");
      const result = await configs.set(call.agent, taskId, viewer(call), registration, call.caller.name);
      if (result === "notfound") throw pushConfigNotFound();
      if (result === "replay") throw replayIsNotPushed(taskId);
      if (result === "limit") {
        const description = `already has ${registration.limit} push configs`;
        throw invalidParams({ field: "taskId", description });
      }
      return configView(taskId, registration.config, request.tenant);
    },

    async getTaskPushNotificationConfig(request, call) {
      const { taskId, id, tenant } = request;
      const config = (await ownConfigs(call, taskId)).find((candidate) => candidate.id === id);
      // A2A has no error for a missing config, and a foreign one must look the same (A2A-105, OW-54).
      if (config === undefined) throw pushConfigNotFound();
      return configView(taskId, config, tenant);
    },

    async listTaskPushNotificationConfigs(request, call) {
      const { taskId, tenant, pageSize, pageToken } = request;
      if (pageSize < 0) throw invalidParams({ field: "pageSize", description: "must not be negative" });
      const secret = options.pageTokenSecret;
      const configs = await ownConfigs(call, taskId);
      const digest = listingDigest(["push", call.caller.id, call.agent, taskId]);
      const lastId = pageToken === "" ? undefined : openPageToken(secret, digest, pageToken, Date.now());
      const start = lastId === undefined ? 0 : configs.findIndex(({ id }) => id === lastId) + 1;
      const page = configs.slice(start, start + Math.min(pageSize || MAX_PAGE, MAX_PAGE));
      const more = start + page.length < configs.length;
      return create(ListTaskPushNotificationConfigsResponseSchema, {
        configs: page.map((config) => configView(taskId, config, tenant)),
        nextPageToken: more ? sealPageToken(secret, digest, page.at(-1)?.id, Date.now() + LISTING_MS) : "",
      });
    },

    async deleteTaskPushNotificationConfig(request, call) {
      const { configs } = offered(call);
      const { taskId, id } = request;
      const visible = await configs.delete(call.agent, taskId, viewer(call), id, call.caller.name);
      if (!visible) throw pushConfigNotFound();
      return create(EmptySchema, {});
    },

    async fromSend(request, call) {
      const config = request.configuration?.taskPushNotificationConfig;
      if (config === undefined) return undefined;
      return prepare(call, config, "configuration.taskPushNotificationConfig.");
    },
  };
}

/** A config as its owner sees it: of its secrets nothing but the scheme (OW-45, A2A-105). */
function configView(taskId: string, config: PushConfigRecord, tenant: string): TaskPushNotificationConfig {
  return create(TaskPushNotificationConfigSchema, {
    tenant,
    id: config.id,
    taskId,
    url: config.url,
    ...(config.scheme === undefined ? {} : { authentication: { scheme: config.scheme } }),
  });
}
