import { create } from "@bufbuild/protobuf";
import {
  type A2AService,
  ListTaskPushNotificationConfigsRequestSchema,
  type TaskPushNotificationConfig,
} from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { pushConfigNotFound } from "../../../domain/errors.ts";
import type { Call, Handlers } from "../../../service/call.ts";

/** Every registration of a task, whatever the size of a page: the array of 0.3 has no second one. */
export async function allConfigs(
  handlers: Handlers<typeof A2AService>,
  taskId: string,
  call: Call,
): Promise<TaskPushNotificationConfig[]> {
  const found: TaskPushNotificationConfig[] = [];
  let pageToken = "";
  do {
    const request = create(ListTaskPushNotificationConfigsRequestSchema, { taskId, pageToken });
    const page = await handlers.listTaskPushNotificationConfigs(request, call);
    found.push(...page.configs);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return found;
}

/**
 * The registration that is meant when none is named: the one that "set" without an id made, which has the id of its
 * task, else the oldest. None at all: TaskNotFound, as for any missing one (A2A-168).
 */
export async function unnamedConfig(
  handlers: Handlers<typeof A2AService>,
  taskId: string,
  call: Call,
): Promise<TaskPushNotificationConfig> {
  const configs = await allConfigs(handlers, taskId, call);
  const config = configs.find(({ id }) => id === taskId) ?? configs[0];
  if (config === undefined) throw pushConfigNotFound();
  return config;
}
