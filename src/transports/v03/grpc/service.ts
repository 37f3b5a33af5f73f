/**
 * The service a2a.v1.A2AService: each rpc of 0.3 as one of 1.0. It is registered in the Dispatcher beside the 1.0
 * service, and so reaches gRPC, gRPC-Web and Connect; HTTP+JSON reads its routes (v03/rest). Checks are those of 1.0, on
 * the translated request, so the annotations of the 0.3 proto are not asked.
 */
import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type A2AService as A2AServiceV03,
  type CreateTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigResponseSchema,
} from "../../../../gen/a2a/v1/a2a_pb.js";
import {
  type A2AService,
  CancelTaskRequestSchema,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetExtendedAgentCardRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  GetTaskRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  SendMessageRequestSchema,
  SubscribeToTaskRequestSchema,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { invalidParams } from "../../../domain/errors.ts";
import { requiredFieldViolations } from "../../../domain/required-fields.ts";
import type { Handlers, StreamItem } from "../../../service/call.ts";
import { cardToV03 } from "../translate/proto/card.ts";
import { parseConfigName, taskIdOf } from "../translate/proto/names.ts";
import { pushConfigFromV03, taskPushConfigToV03 } from "../translate/proto/push-config.ts";
import { historyLengthFromV03, sendRequestFromV03 } from "../translate/proto/send-request.ts";
import { eventToV03, sendResponseToV03, taskToV03 } from "../translate/proto/task.ts";
import { sentNames, withOldFieldNames } from "./field-names.ts";
import { allConfigs, unnamedConfig } from "./first-config.ts";

/** The 0.3 service in front of the handlers of 1.0. */
export function createV03Service(inner: Handlers<typeof A2AService>): Handlers<typeof A2AServiceV03> {
  const handlers = withOldFieldNames(inner);
  return {
    async sendMessage(request, call) {
      const translated = checked(SendMessageRequestSchema, sendRequestFromV03(request));
      return sendResponseToV03(await handlers.sendMessage(translated, call));
    },

    async *sendStreamingMessage(request, call) {
      const translated = checked(SendMessageRequestSchema, sendRequestFromV03(request));
      yield* eventsToV03(handlers.sendStreamingMessage(translated, call));
    },

    async getTask(request, call) {
      const historyLength = historyLengthFromV03(request.historyLength);
      const translated = create(GetTaskRequestSchema, {
        id: taskIdOf(request.name, "name"),
        ...(historyLength === undefined ? {} : { historyLength }),
      });
      return taskToV03(await handlers.getTask(translated, call));
    },

    async cancelTask(request, call) {
      const translated = create(CancelTaskRequestSchema, { id: taskIdOf(request.name, "name") });
      return taskToV03(await handlers.cancelTask(translated, call));
    },

    async *taskSubscription(request, call) {
      const translated = create(SubscribeToTaskRequestSchema, { id: taskIdOf(request.name, "name") });
      yield* eventsToV03(handlers.subscribeToTask(translated, call));
    },

    async createTaskPushNotificationConfig(request, call) {
      const translated = checked(TaskPushNotificationConfigSchema, createRequest(request));
      return taskPushConfigToV03(await handlers.createTaskPushNotificationConfig(translated, call));
    },

    async getTaskPushNotificationConfig(request, call) {
      const { taskId, configId } = parseConfigName(request.name, "name");
      if (configId === "") return taskPushConfigToV03(await unnamedConfig(handlers, taskId, call));
      const translated = create(GetTaskPushNotificationConfigRequestSchema, { taskId, id: configId });
      return taskPushConfigToV03(await handlers.getTaskPushNotificationConfig(translated, call));
    },

    async listTaskPushNotificationConfig({ parent, pageSize, pageToken }, call) {
      const { taskId } = parseConfigName(parent, "parent");
      if (pageSize === 0 && pageToken === "") {
        const configs = await allConfigs(handlers, taskId, call);
        return create(ListTaskPushNotificationConfigResponseSchema, {
          configs: configs.map(taskPushConfigToV03),
        });
      }
      const translated = create(ListTaskPushNotificationConfigsRequestSchema, {
        taskId,
        pageSize,
        pageToken,
      });
      const page = await handlers.listTaskPushNotificationConfigs(translated, call);
      return create(ListTaskPushNotificationConfigResponseSchema, {
        configs: page.configs.map(taskPushConfigToV03),
        nextPageToken: page.nextPageToken,
      });
    },

    async deleteTaskPushNotificationConfig(request, call) {
      const { taskId, configId } = parseConfigName(request.name, "name");
      // What "set" without an id made has the id of its task.
      const translated = create(DeleteTaskPushNotificationConfigRequestSchema, {
        taskId,
        id: configId || taskId,
      });
      await handlers.deleteTaskPushNotificationConfig(translated, call);
      return create(EmptySchema);
    },

    async getAgentCard(_request, call) {
      const card = await handlers.getExtendedAgentCard(create(GetExtendedAgentCardRequestSchema), call);
      return cardToV03(card);
    },
  };
}

async function* eventsToV03(
  items: ReturnType<Handlers<typeof A2AService>["subscribeToTask"]>,
): AsyncGenerator<StreamItem<ReturnType<typeof eventToV03>>> {
  for await (const { message, id } of items) {
    yield { message: eventToV03(message), ...(id === undefined ? {} : { id }) };
  }
}

/** Three places can name the config; without any its task's id does, so that a second one replaces it (A2A-169). */
function createRequest({
  parent,
  configId,
  config,
}: CreateTaskPushNotificationConfigRequest): TaskPushNotificationConfig {
  const name = config?.name ?? "";
  const byName = name === "" ? undefined : parseConfigName(name, "config.name");
  const { taskId } = parent === "" && byName !== undefined ? byName : parseConfigName(parent, "parent");
  if (byName !== undefined && byName.taskId !== taskId) {
    throw invalidParams({ field: "config.name", description: "names another task than parent" });
  }
  const named = { taskId, configId: configId || (byName?.configId ?? "") };
  const translated = pushConfigFromV03(config?.pushNotificationConfig, named);
  return translated.id === "" ? { ...translated, id: taskId } : translated;
}

/** What 1.0 requires is required here too, under the names of the 0.3 proto (A2A-176). */
function checked<D extends DescMessage>(schema: D, request: MessageShape<D>): MessageShape<D> {
  const violations = requiredFieldViolations(schema, request).map(({ field, description }) => ({
    field: sentNames(field),
    description,
  }));
  if (violations.length > 0) throw invalidParams(...violations);
  return request;
}
