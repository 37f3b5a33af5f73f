/** The JSON-RPC methods of 0.3. Their names hold a slash, so they stand beside those of 1.0 at one URL (A2A-135). */
import {
  create,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type JsonObject,
  type JsonValue,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  DeleteTaskPushNotificationConfigRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  ListTaskPushNotificationConfigRequestSchema,
  A2AService as V03,
} from "../../../../gen/a2a/v1/a2a_pb.js";
import { type AgentCard, A2AService as V1 } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { invalidParams } from "../../../domain/errors.ts";
import type { JsonRpcBinding, JsonRpcBindings } from "../../jsonrpc/binding.ts";
import { legacyError, type PathNames } from "../errors.ts";
import { writeCard } from "../translate/kind/card.ts";
import { Faults, Members } from "../translate/kind/members.ts";
import {
  type PushParams,
  pushParamsOf,
  readCancelParams,
  readGetParams,
  readResubscribeParams,
  readSendParams,
  readSetPushParams,
} from "../translate/kind/read-request.ts";
import { writeEvent, writeTask, writeTaskPushConfig } from "../translate/kind/write.ts";
import { configName, taskName } from "../translate/proto/names.ts";
import { taskPushConfigFromV03 } from "../translate/proto/push-config.ts";

type Method = DescMethodUnary | DescMethodServerStreaming;

/** How one method is read and printed, with the types of the rpc that serves it. */
interface Translation<M extends Method> {
  readonly method: M;
  read(params: JsonObject): MessageShape<M["input"]>;
  print(result: MessageShape<M["output"]>): JsonValue;
  readonly names?: PathNames;
}

function binding<M extends Method>({ method, read, print, names }: Translation<M>): JsonRpcBinding {
  return {
    form: "0.3",
    method,
    readRequest: read,
    // The dispatcher answers with the output of the method that it was called with.
    printResult: (result) => JSON.stringify(print(result as MessageShape<M["output"]>)),
    printError: (error) => legacyError(error, names),
  };
}

/** The path of a 1.0 send in the words of 0.3. */
const sendNames: PathNames = (field) =>
  field
    .replace(/^configuration\.taskPushNotificationConfig\b/, "configuration.pushNotificationConfig")
    .replace(/\bauthentication\.scheme$/, "authentication.schemes");

/** The flat registration of 1.0 is an object within an object in 0.3. */
const setNames: PathNames = (field) =>
  field
    .replace(/\bauthentication\.scheme$/, "authentication.schemes")
    .replace(/^(url|token|id|authentication\b.*)$/, "pushNotificationConfig.$1");

/** The 0.3 service knows one resource name where JSON-RPC has ids; what can be wrong with it is the task's id. */
const resourceNames: PathNames = (field) => (field === "name" || field === "parent" ? "id" : field);

/**
 * All ten methods. Those that 1.0 has under the same meaning call it at once; get, list and delete of push
 * registrations call the 0.3 service, which knows the rules that 1.0 has no word for (A2A-168).
 */
export function v03Bindings(): JsonRpcBindings {
  return new Map<string, JsonRpcBinding>([
    [
      "message/send",
      binding({ method: V1.method.sendMessage, read: readSendParams, print: writeEvent, names: sendNames }),
    ],
    [
      "message/stream",
      binding({
        method: V1.method.sendStreamingMessage,
        read: readSendParams,
        print: writeEvent,
        names: sendNames,
      }),
    ],
    ["tasks/get", binding({ method: V1.method.getTask, read: readGetParams, print: writeTask })],
    ["tasks/cancel", binding({ method: V1.method.cancelTask, read: readCancelParams, print: writeTask })],
    [
      "tasks/resubscribe",
      binding({ method: V1.method.subscribeToTask, read: readResubscribeParams, print: writeEvent }),
    ],
    [
      "tasks/pushNotificationConfig/set",
      binding({
        method: V1.method.createTaskPushNotificationConfig,
        read: readSetPushParams,
        print: writeTaskPushConfig,
        names: setNames,
      }),
    ],
    [
      "tasks/pushNotificationConfig/get",
      binding({
        method: V03.method.getTaskPushNotificationConfig,
        read(params) {
          const { taskId, configId } = pushParams(params);
          return create(GetTaskPushNotificationConfigRequestSchema, { name: configName(taskId, configId) });
        },
        print: (config) => writeTaskPushConfig(taskPushConfigFromV03(config)),
        names: resourceNames,
      }),
    ],
    [
      "tasks/pushNotificationConfig/list",
      binding({
        method: V03.method.listTaskPushNotificationConfig,
        read: (params) =>
          create(ListTaskPushNotificationConfigRequestSchema, {
            parent: taskName(pushParams(params).taskId),
          }),
        print: ({ configs }) => configs.map((config) => writeTaskPushConfig(taskPushConfigFromV03(config))),
        names: resourceNames,
      }),
    ],
    [
      "tasks/pushNotificationConfig/delete",
      binding({
        method: V03.method.deleteTaskPushNotificationConfig,
        read(params) {
          const { taskId, configId } = pushParams(params);
          return create(DeleteTaskPushNotificationConfigRequestSchema, {
            name: configName(taskId, configId),
          });
        },
        // Empty is an object in 1.0 and nothing in 0.3 (A2A-125).
        print: () => null,
        names: resourceNames,
      }),
    ],
    [
      "agent/getAuthenticatedExtendedCard",
      binding({ method: V1.method.getExtendedAgentCard, read: () => noParams, print: printCard }),
    ],
  ]);
}

const noParams = create(V1.method.getExtendedAgentCard.input);

function pushParams(params: JsonObject): PushParams {
  const faults = new Faults();
  const read = pushParamsOf(Members.of(params, "", faults));
  faults.raise();
  if (read.taskId.trim() === "") throw invalidParams({ field: "id", description: "is required" });
  return read;
}

/** An agent whose extended card lists no 0.3 interface still answers the call that reached it. */
function printCard(card: AgentCard): JsonValue {
  return writeCard(card) ?? {};
}
