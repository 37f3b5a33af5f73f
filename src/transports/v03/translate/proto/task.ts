/** Tasks, events and the answers that hold them: package a2a.v1 (0.3) and package lf.a2a.v1 (1.0), both ways. */
import { create } from "@bufbuild/protobuf";
import {
  type TaskArtifactUpdateEvent as OldArtifactUpdate,
  TaskArtifactUpdateEventSchema as OldArtifactUpdateSchema,
  type SendMessageResponse as OldSendMessageResponse,
  SendMessageResponseSchema as OldSendMessageResponseSchema,
  type TaskStatus as OldStatus,
  TaskStatusSchema as OldStatusSchema,
  type TaskStatusUpdateEvent as OldStatusUpdate,
  TaskStatusUpdateEventSchema as OldStatusUpdateSchema,
  type StreamResponse as OldStreamResponse,
  StreamResponseSchema as OldStreamResponseSchema,
  type Task as OldTask,
  TaskSchema as OldTaskSchema,
} from "../../../../../gen/a2a/v1/a2a_pb.js";
import {
  type SendMessageResponse,
  SendMessageResponseSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskArtifactUpdateEventSchema,
  TaskSchema,
  type TaskStatus,
  TaskStatusSchema,
  type TaskStatusUpdateEvent,
  TaskStatusUpdateEventSchema,
} from "../../../../../gen/lf/a2a/v1/a2a_pb.js";
import { isFinal } from "../final.ts";
import { whenSet } from "../when-set.ts";
import { artifactFromV03, artifactToV03, messageFromV03, messageToV03 } from "./message.ts";

/** Translates what is there. */
function mapped<A, B>(value: A | undefined, translate: (value: A) => B): B | undefined {
  return value === undefined ? undefined : translate(value);
}

function statusToV03({ state, message, timestamp }: TaskStatus): OldStatus {
  return create(OldStatusSchema, {
    // The numbers of both enums are the same; only one name differs, CANCELED and CANCELLED.
    state: state as number,
    ...whenSet("update", mapped(message, messageToV03)),
    ...whenSet("timestamp", timestamp),
  });
}

function statusFromV03({ state, update, timestamp }: OldStatus): TaskStatus {
  return create(TaskStatusSchema, {
    // The numbers of both enums are the same.
    state: state as number,
    ...whenSet("message", mapped(update, messageFromV03)),
    ...whenSet("timestamp", timestamp),
  });
}

export function taskToV03({ id, contextId, status, artifacts, history, metadata }: Task): OldTask {
  return create(OldTaskSchema, {
    id,
    contextId,
    artifacts: artifacts.map(artifactToV03),
    history: history.map(messageToV03),
    ...whenSet("status", mapped(status, statusToV03)),
    ...whenSet("metadata", metadata),
  });
}

export function taskFromV03({ id, contextId, status, artifacts, history, metadata }: OldTask): Task {
  return create(TaskSchema, {
    id,
    contextId,
    artifacts: artifacts.map(artifactFromV03),
    history: history.map(messageFromV03),
    ...whenSet("status", mapped(status, statusFromV03)),
    ...whenSet("metadata", metadata),
  });
}

function statusUpdateToV03({ taskId, contextId, status, metadata }: TaskStatusUpdateEvent): OldStatusUpdate {
  return create(OldStatusUpdateSchema, {
    taskId,
    contextId,
    final: isFinal(status?.state),
    ...whenSet("status", mapped(status, statusToV03)),
    ...whenSet("metadata", metadata),
  });
}

function statusUpdateFromV03({
  taskId,
  contextId,
  status,
  metadata,
}: OldStatusUpdate): TaskStatusUpdateEvent {
  return create(TaskStatusUpdateEventSchema, {
    taskId,
    contextId,
    ...whenSet("status", mapped(status, statusFromV03)),
    ...whenSet("metadata", metadata),
  });
}

function artifactUpdateToV03(event: TaskArtifactUpdateEvent): OldArtifactUpdate {
  const { taskId, contextId, append, lastChunk, artifact, metadata } = event;
  return create(OldArtifactUpdateSchema, {
    taskId,
    contextId,
    append,
    lastChunk,
    ...whenSet("artifact", mapped(artifact, artifactToV03)),
    ...whenSet("metadata", metadata),
  });
}

function artifactUpdateFromV03(event: OldArtifactUpdate): TaskArtifactUpdateEvent {
  const { taskId, contextId, append, lastChunk, artifact, metadata } = event;
  return create(TaskArtifactUpdateEventSchema, {
    taskId,
    contextId,
    append,
    lastChunk,
    ...whenSet("artifact", mapped(artifact, artifactFromV03)),
    ...whenSet("metadata", metadata),
  });
}

export function sendResponseToV03({ payload }: SendMessageResponse): OldSendMessageResponse {
  const schema = OldSendMessageResponseSchema;
  switch (payload.case) {
    case "task":
      return create(schema, { payload: { case: "task", value: taskToV03(payload.value) } });
    case "message":
      return create(schema, { payload: { case: "msg", value: messageToV03(payload.value) } });
    default:
      return create(schema);
  }
}

export function sendResponseFromV03({ payload }: OldSendMessageResponse): SendMessageResponse {
  const schema = SendMessageResponseSchema;
  switch (payload.case) {
    case "task":
      return create(schema, { payload: { case: "task", value: taskFromV03(payload.value) } });
    case "msg":
      return create(schema, { payload: { case: "message", value: messageFromV03(payload.value) } });
    default:
      return create(schema);
  }
}

export function eventToV03({ payload }: StreamResponse): OldStreamResponse {
  const schema = OldStreamResponseSchema;
  switch (payload.case) {
    case "task":
      return create(schema, { payload: { case: "task", value: taskToV03(payload.value) } });
    case "message":
      return create(schema, { payload: { case: "msg", value: messageToV03(payload.value) } });
    case "statusUpdate":
      return create(schema, { payload: { case: "statusUpdate", value: statusUpdateToV03(payload.value) } });
    case "artifactUpdate":
      return create(schema, {
        payload: { case: "artifactUpdate", value: artifactUpdateToV03(payload.value) },
      });
    default:
      return create(schema);
  }
}

export function eventFromV03({ payload }: OldStreamResponse): StreamResponse {
  const schema = StreamResponseSchema;
  switch (payload.case) {
    case "task":
      return create(schema, { payload: { case: "task", value: taskFromV03(payload.value) } });
    case "msg":
      return create(schema, { payload: { case: "message", value: messageFromV03(payload.value) } });
    case "statusUpdate":
      return create(schema, { payload: { case: "statusUpdate", value: statusUpdateFromV03(payload.value) } });
    case "artifactUpdate":
      return create(schema, {
        payload: { case: "artifactUpdate", value: artifactUpdateFromV03(payload.value) },
      });
    default:
      return create(schema);
  }
}
