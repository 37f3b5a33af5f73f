/** Requests as clients send them, by version and form. */
import type { JsonObject } from "@bufbuild/protobuf";

const MESSAGE: JsonObject = {
  messageId: "m1",
  role: "ROLE_USER",
  taskId: "t1",
  contextId: "c1",
  parts: [
    { text: "hello", mediaType: "text/plain" },
    { raw: "aGk=", filename: "a.txt" },
    { url: "https://files.example/a", metadata: { a: [1, null] } },
    { data: { n: 1.5, list: [true, { deep: null }] } },
  ],
  extensions: ["urn:x"],
  referenceTaskIds: ["t0"],
  metadata: { a: { b: null } },
};

const SEND: JsonObject = {
  tenant: "acme",
  message: MESSAGE,
  configuration: {
    acceptedOutputModes: ["text/plain"],
    historyLength: 3,
    returnImmediately: true,
    taskPushNotificationConfig: {
      url: "https://hook.example/x",
      token: "t",
      authentication: { scheme: "Bearer", credentials: "s" },
    },
  },
  metadata: { k: 1 },
};

const PUSH: JsonObject = {
  taskId: "t1",
  id: "p1",
  url: "https://hook.example/x",
  authentication: { scheme: "Bearer", credentials: "s" },
};

/** Requests of 1.0 by rpc. */
export const REQUESTS: Readonly<Record<string, JsonObject>> = {
  SendMessage: SEND,
  SendStreamingMessage: SEND,
  GetTask: { id: "t1", historyLength: 2 },
  ListTasks: {
    contextId: "c1",
    status: "TASK_STATE_WORKING",
    pageSize: 10,
    pageToken: "x.y",
    historyLength: 1,
    statusTimestampAfter: "2025-01-01T00:00:00.000Z",
    includeArtifacts: true,
  },
  CancelTask: { id: "t1", metadata: { reason: "no" } },
  SubscribeToTask: { id: "t1" },
  CreateTaskPushNotificationConfig: PUSH,
  GetTaskPushNotificationConfig: { taskId: "t1", id: "p1" },
  ListTaskPushNotificationConfigs: { taskId: "t1", pageSize: 1, pageToken: "" },
  DeleteTaskPushNotificationConfig: { taskId: "t1", id: "p1" },
  GetExtendedAgentCard: {},
};

const KIND_MESSAGE: JsonObject = {
  kind: "message",
  messageId: "m1",
  role: "user",
  parts: [
    { kind: "text", text: "hello" },
    { kind: "file", file: { bytes: "aGk=", name: "a", mimeType: "text/plain" } },
    { kind: "file", file: { uri: "https://files.example/a" } },
    { kind: "data", data: { n: 1 }, metadata: { data_part_compat: true } },
  ],
};

const KIND_SEND: JsonObject = {
  message: KIND_MESSAGE,
  configuration: {
    blocking: false,
    historyLength: 1,
    acceptedOutputModes: ["text/plain"],
    pushNotificationConfig: {
      url: "https://hook.example/x",
      authentication: { schemes: ["Bearer"], credentials: "s" },
    },
  },
};

/** Params of the JSON-RPC methods of 0.3. */
export const LEGACY_PARAMS: Readonly<Record<string, JsonObject>> = {
  "message/send": KIND_SEND,
  "message/stream": KIND_SEND,
  "tasks/get": { id: "t1", historyLength: 1, metadata: {} },
  "tasks/cancel": { id: "t1" },
  "tasks/resubscribe": { id: "t1" },
  "tasks/pushNotificationConfig/set": {
    taskId: "t1",
    pushNotificationConfig: { id: "p", url: "https://hook.example/x", token: "t" },
  },
  "tasks/pushNotificationConfig/get": { id: "t1", pushNotificationConfigId: "p" },
  "tasks/pushNotificationConfig/list": { id: "t1" },
  "tasks/pushNotificationConfig/delete": { id: "t1", pushNotificationConfigId: "p" },
  "agent/getAuthenticatedExtendedCard": {},
};

/** Bodies of HTTP+JSON of 0.3: its proto's JSON, and the objects with `kind` that some send. */
export const LEGACY_BODIES: readonly JsonObject[] = [
  {
    message: {
      messageId: "m1",
      role: "ROLE_USER",
      content: [
        { text: "hello" },
        { file: { fileWithBytes: "aGk=", mimeType: "text/plain" } },
        { data: { data: { n: 1 } } },
      ],
      metadata: { a: null },
    },
    configuration: { blocking: true, historyLength: 0, pushNotification: { url: "https://hook.example/x" } },
  },
  KIND_SEND,
  { name: "tasks/t1/pushNotificationConfigs/p", pushNotificationConfig: { url: "https://hook.example/x" } },
  {
    parent: "tasks/t1",
    configId: "p",
    config: { pushNotificationConfig: { url: "https://hook.example/x" } },
  },
  {},
];

export const LEGACY_REQUESTS: Readonly<Record<string, JsonObject>> = {
  SendMessage: LEGACY_BODIES[0] ?? {},
  SendStreamingMessage: LEGACY_BODIES[0] ?? {},
  GetTask: { name: "tasks/t1", historyLength: 2 },
  CancelTask: { name: "tasks/t1" },
  TaskSubscription: { name: "tasks/t1" },
  CreateTaskPushNotificationConfig: LEGACY_BODIES[3] ?? {},
  GetTaskPushNotificationConfig: { name: "tasks/t1/pushNotificationConfigs/p" },
  ListTaskPushNotificationConfig: { parent: "tasks/t1", pageSize: 1 },
  DeleteTaskPushNotificationConfig: { name: "tasks/t1/pushNotificationConfigs/p" },
  GetAgentCard: {},
};
