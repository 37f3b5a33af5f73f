/** Push registrations: package a2a.v1 (0.3) and package lf.a2a.v1 (1.0), both ways. */
import { create } from "@bufbuild/protobuf";
import {
  type PushNotificationConfig as OldConfig,
  PushNotificationConfigSchema as OldConfigSchema,
  type TaskPushNotificationConfig as OldTaskConfig,
  TaskPushNotificationConfigSchema as OldTaskConfigSchema,
} from "../../../../../gen/a2a/v1/a2a_pb.js";
import {
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from "../../../../../gen/lf/a2a/v1/a2a_pb.js";
import { type ConfigName, configName, parseConfigName } from "./names.ts";

export function pushConfigToV03({ id, url, token, authentication }: TaskPushNotificationConfig): OldConfig {
  return create(OldConfigSchema, {
    id,
    url,
    token,
    ...(authentication === undefined
      ? {}
      : {
          authentication: { schemes: [authentication.scheme], credentials: authentication.credentials },
        }),
  });
}

/** Of several schemes the first is taken (A2A-167). The id in the config is the last resort of three. */
export function pushConfigFromV03(
  config: OldConfig | undefined,
  { taskId, configId }: ConfigName,
): TaskPushNotificationConfig {
  const authentication = config?.authentication;
  return create(TaskPushNotificationConfigSchema, {
    taskId,
    id: configId || (config?.id ?? ""),
    url: config?.url ?? "",
    token: config?.token ?? "",
    ...(authentication === undefined
      ? {}
      : {
          authentication: {
            scheme: authentication.schemes[0] ?? "",
            credentials: authentication.credentials,
          },
        }),
  });
}

export function taskPushConfigToV03(config: TaskPushNotificationConfig): OldTaskConfig {
  return create(OldTaskConfigSchema, {
    name: configName(config.taskId, config.id),
    pushNotificationConfig: pushConfigToV03(config),
  });
}

/** Throws InvalidParams for a name that is none. */
export function taskPushConfigFromV03(config: OldTaskConfig): TaskPushNotificationConfig {
  return pushConfigFromV03(config.pushNotificationConfig, parseConfigName(config.name, "name"));
}
