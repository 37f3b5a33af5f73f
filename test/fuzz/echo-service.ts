/** Handlers that check a request as the real ones do, and send back what it held, so that printing is tried as well. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { EmptySchema, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type A2AService,
  AgentCardSchema,
  ArtifactSchema,
  ListTaskPushNotificationConfigsResponseSchema,
  ListTasksResponseSchema,
  type Message,
  SendMessageResponseSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { invalidParams, taskNotFound } from "../../src/domain/errors.ts";
import {
  checkClientMessage,
  contentHash,
  historyLengthViolations,
  messageKey,
  titleOf,
} from "../../src/domain/message-rules.ts";
import { listingDigest, openPageToken } from "../../src/domain/page-token.ts";
import type { Call, Handlers, StreamItem } from "../../src/service/call.ts";
import { resume } from "../../src/service/resumable-streams.ts";
import { LogEvent } from "../../src/store/task-log.ts";

const SECRET = Buffer.alloc(32, 7);
const SEQ = 5;

function taskOf(id: string, history: Message[] = []): Task {
  const task = create(TaskSchema, {
    id,
    contextId: "c",
    status: { state: TaskState.COMPLETED, timestamp: timestampFromMs(1_800_000_000_001) },
    history,
    artifacts: history
      .filter(({ parts }) => parts.length > 0)
      .map(({ parts, metadata }) =>
        create(ArtifactSchema, { artifactId: "a", parts, ...(metadata === undefined ? {} : { metadata }) }),
      ),
  });
  // Through the binary form, as everything that Redis keeps.
  return fromBinary(TaskSchema, toBinary(TaskSchema, task));
}

const log = {
  async *pages(_agent: string, id: string, after: number, last: number) {
    const page: LogEvent[] = [];
    for (let seq = after + 1; seq <= last; seq += 1) {
      page.push(
        new LogEvent(seq, Buffer.from(toBinary(StreamResponseSchema, item(taskOf(id), seq).message))),
      );
    }
    yield page;
  },
};

function item(task: Task, seq: number): StreamItem<StreamResponse> {
  return {
    id: String(seq),
    message: create(StreamResponseSchema, { payload: { case: "task", value: task } }),
  };
}

function checkId(id: string): void {
  if (id.trim() === "") throw invalidParams({ field: "id", description: "must not be blank" });
  if (id.startsWith("nope")) throw taskNotFound(id);
}

export function echoService(): Handlers<typeof A2AService> {
  return {
    async sendMessage(request) {
      const message = checkClientMessage(request);
      contentHash(message, request.metadata);
      messageKey(message.messageId);
      titleOf(message);
      return create(SendMessageResponseSchema, {
        payload: { case: "task", value: taskOf("t", [message]) },
      });
    },
    async *sendStreamingMessage(request) {
      const message = checkClientMessage(request);
      yield item(taskOf("t", [message]), 1);
    },
    async getTask(request) {
      checkId(request.id);
      const violations = historyLengthViolations(request.historyLength);
      if (violations.length > 0) throw invalidParams(...violations);
      return taskOf(request.id);
    },
    async listTasks(request) {
      if (request.statusTimestampAfter !== undefined) timestampMs(request.statusTimestampAfter);
      if (request.pageToken !== "") {
        openPageToken(SECRET, listingDigest([request.contextId]), request.pageToken, Date.now());
      }
      return create(ListTasksResponseSchema, { tasks: [taskOf("t")], pageSize: 1, totalSize: 1 });
    },
    async cancelTask(request) {
      checkId(request.id);
      return taskOf(request.id);
    },
    async *subscribeToTask(request, call: Call) {
      checkId(request.id);
      if (call.lastEventId === undefined) {
        yield item(taskOf(request.id), SEQ);
        return;
      }
      const found = await resume(log, { agent: "acme", id: request.id, seq: SEQ }, call.lastEventId);
      call.responseHeaders.set("a2a-stream-resume", found.kind);
      if (found.kind !== "replay") yield item(taskOf(request.id), SEQ);
      else for await (const event of found.missed) yield { id: String(event.seq), message: event.message };
    },
    async createTaskPushNotificationConfig(request) {
      checkId(request.taskId);
      return request;
    },
    async getTaskPushNotificationConfig(request) {
      checkId(request.taskId);
      throw taskNotFound(request.taskId);
    },
    async listTaskPushNotificationConfigs(request) {
      checkId(request.taskId);
      return create(ListTaskPushNotificationConfigsResponseSchema);
    },
    async deleteTaskPushNotificationConfig(request) {
      checkId(request.taskId);
      return create(EmptySchema);
    },
    async getExtendedAgentCard() {
      return create(AgentCardSchema, { name: "Echo" });
    },
  };
}
