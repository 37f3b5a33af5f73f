import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type A2AService,
  type AgentCard,
  type Message,
  type SendMessageRequest,
  SendMessageResponseSchema,
  type SubscribeToTaskRequest,
  type Task,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { viewerOf } from "../backends/viewer.ts";
import { BatonError, invalidParams, taskNotFound } from "../domain/errors.ts";
import {
  checkClientMessage,
  checkMediaTypes,
  historyLengthViolations,
  historyLimit,
} from "../domain/message-rules.ts";
import { isTerminal } from "../domain/todo.ts";
import type { PushRegistration } from "../store/push-configs.ts";
import type { StreamSlots } from "../store/stream-slots.ts";
import type { Subscription } from "../store/subscription.ts";
import type { TaskFeed } from "../store/task-feed.ts";
import { type TaskSnapshot, type TaskStore, WHOLE_TASK } from "../store/tasks.ts";
import type { AgentDirectory, ServedAgent } from "./agents.ts";
import { BegunStream } from "./begun-stream.ts";
import type { Call, Handlers } from "./call.ts";
import { acceptedInputModes } from "./card.ts";
import { awaitAnswer, type FollowOptions, followTask } from "./follow-task.ts";
import { listTasks } from "./list-tasks.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { PushConfigHandlers } from "./push-configs.ts";
import { RESUME_HEADER, resume, withPositions } from "./resumable-streams.ts";

export interface A2AServiceOptions {
  readonly agents: AgentDirectory;
  readonly tasks: TaskStore;
  readonly feed: TaskFeed;
  readonly streams: OpenStreams;
  readonly slots: StreamSlots;
  readonly push: PushConfigHandlers;
  /** The card for the caller; see CardDirectory. */
  extendedCard(call: Call): Promise<AgentCard>;
  readonly pageTokenSecret: Buffer;
  /** Longest wait of a blocking send, in milliseconds; 0 never waits. */
  readonly maxWaitMs: number;
  readonly streamBuffer: number;
  readonly endOnInputRequired: boolean;
}

/** A registered stream with its slot. */
interface StreamPlace {
  readonly signal: AbortSignal;
  release(): void;
}

/** Left between our answer and the caller's deadline, in milliseconds. */
const DEADLINE_MARGIN_MS = 250;

/** The eleven operations of A2A 1.0, for every transport. */
export function createA2AService(options: A2AServiceOptions): Handlers<typeof A2AService> {
  const { agents, tasks, feed, streams } = options;

  /** Starts or continues a task, with a subscription that was open before the change when `listen` asks for one. */
  async function accept(
    request: SendMessageRequest,
    call: Call,
    listen: boolean,
  ): Promise<{ snapshot: TaskSnapshot; subscription: Subscription | undefined }> {
    const agent = agents.get(call.agent);
    const message = checkSend(request, call, agent);
    const push: PushRegistration | undefined = await options.push.fromSend(request, call);
    const historyLength = historyLimit(request.configuration?.historyLength);
    const isReply = message.taskId !== "";
    const taskId = isReply ? message.taskId : `td_${randomUUID()}`;
    const subscribe = (id: string) => feed.subscribe(agent.name, id, options.streamBuffer);
    let subscription = listen ? await subscribe(taskId) : undefined;
    try {
      const registration = push === undefined ? {} : { push };
      const input = {
        agent,
        caller: call.caller,
        taskId,
        message,
        request,
        historyLength,
        ...registration,
      };
      const snapshot = isReply
        ? await agent.backend.reply(input)
        : await agent.backend.start({
            ...input,
            contextId: message.contextId || randomUUID(),
            ...(call.trace === undefined ? {} : { trace: call.trace }),
          });
      if (subscription !== undefined && snapshot.task.id !== taskId) {
        // The id was not known before: what happened until now is in a snapshot that is read after subscribing.
        subscription.close();
        subscription = await subscribe(snapshot.task.id);
        return { snapshot: await read(call, snapshot.task.id, historyLength), subscription };
      }
      return { snapshot, subscription };
    } catch (error) {
      subscription?.close();
      throw error;
    }
  }

  async function read(call: Call, id: string, historyLength: number): Promise<TaskSnapshot> {
    const agent = agents.get(call.agent);
    const shape = { historyLength, includeArtifacts: true };
    const snapshot = await tasks.read(agent.name, id, viewerOf(agent, call.caller), shape);
    if (snapshot === undefined) throw taskNotFound(id);
    return snapshot;
  }

  /** A task that mirrors another system's work is compared with it before it is shown (OW-12). */
  function refresh(call: Call, taskId: string): Promise<void> | undefined {
    const agent = agents.get(call.agent);
    return agent.backend.refresh?.({ agent, caller: call.caller, taskId });
  }

  /** A 0.3 event with INPUT_REQUIRED says that it is the last (A2A-163), so there the stream always ends. */
  function endsOnInputRequired(call: Call): boolean {
    return options.endOnInputRequired || call.version === "0.3";
  }

  async function takeSlot(call: Call): Promise<{ release(): void }> {
    const slot = await options.slots.take(call.caller.id);
    if (slot === undefined) {
      throw new BatonError("RateLimited", "the endpoint has too many streams open", { retryAfterMs: 1000 });
    }
    return slot;
  }

  /** Registers a stream and takes its slot for what `work` begins; that gives both back where it ends. */
  async function inPlace<T>(call: Call, work: (place: StreamPlace) => Promise<T>): Promise<T> {
    const open = streams.open(call);
    let slot: { release(): void } | undefined;
    const release = () => {
      open.release();
      slot?.release();
    };
    try {
      slot = await takeSlot(call);
      return await work({ signal: open.signal, release });
    } catch (error) {
      release();
      throw error;
    }
  }

  async function begin(request: SendMessageRequest, call: Call, { signal, release: onEnd }: StreamPlace) {
    const { snapshot, subscription } = await accept(request, call, true);
    if (subscription === undefined) throw new Error("a stream has no subscription");
    const follow = { signal, onEnd, endOnInputRequired: endsOnInputRequired(call) };
    return withPositions(followTask(subscription, snapshot, follow), call);
  }

  async function attach(
    request: SubscribeToTaskRequest,
    call: Call,
    { signal, release: onEnd }: StreamPlace,
  ) {
    const agent = agents.get(call.agent);
    const subscription = await feed.subscribe(agent.name, request.id, options.streamBuffer);
    try {
      await refresh(call, request.id);
      const snapshot = await tasks.read(agent.name, request.id, viewerOf(agent, call.caller), WHOLE_TASK);
      if (snapshot === undefined) throw taskNotFound(request.id);
      const resumption =
        call.lastEventId === undefined
          ? undefined
          : await resume(feed, { agent: agent.name, id: request.id, seq: snapshot.seq }, call.lastEventId);
      if (resumption !== undefined) call.responseHeaders.set(RESUME_HEADER, resumption.kind);
      const nothingToSay = resumption === undefined || resumption.kind === "current";
      // A 0.3 client that comes back too late gets the task, and then the end of the stream (A2A-171).
      if (isTerminal(snapshot.state) && nothingToSay && call.version !== "0.3") {
        throw new BatonError("UnsupportedOperation", "the task has ended; read it with GetTask", {
          metadata: { taskId: request.id },
        });
      }
      const follow: FollowOptions = {
        signal,
        onEnd,
        endOnInputRequired: endsOnInputRequired(call),
        endAtPastInputRequired: call.version === "0.3",
        ...(resumption?.kind === "replay" ? { missed: resumption.missed } : {}),
      };
      return withPositions(followTask(subscription, snapshot, follow), call);
    } catch (error) {
      subscription.close();
      throw error;
    }
  }

  return {
    async sendMessage(request, call) {
      const ownMaxMs = agents.get(call.agent).backend.maxWaitMs ?? options.maxWaitMs;
      const waitMs = waitFor(request, call, Math.min(options.maxWaitMs, ownMaxMs));
      const { snapshot, subscription } = await accept(request, call, waitMs > 0);
      let task = snapshot.task;
      if (subscription !== undefined) {
        const wait = streams.openWait(call);
        try {
          await awaitAnswer(subscription, snapshot, waitMs, wait.signal);
        } finally {
          wait.release();
        }
        task = (await read(call, task.id, historyLimit(request.configuration?.historyLength))).task;
      }
      return create(SendMessageResponseSchema, { payload: { case: "task", value: task } });
    },

    sendStreamingMessage: (request, call) =>
      new BegunStream(() => {
        requireStreaming(call);
        return inPlace(call, (place) => begin(request, call, place));
      }),

    async getTask(request, call) {
      checkTaskId(request.id);
      const violations = historyLengthViolations(request.historyLength);
      if (violations.length > 0) throw invalidParams(...violations);
      const refreshed = refresh(call, request.id);
      if (refreshed !== undefined) await refreshed;
      return (await read(call, request.id, historyLimit(request.historyLength))).task;
    },

    listTasks: (request, call) => listTasks(options, request, call),

    async cancelTask(request, call): Promise<Task> {
      checkTaskId(request.id);
      const agent = agents.get(call.agent);
      const reason = request.metadata?.reason;
      const { snapshot, changed } = await agent.backend.cancel({
        agent,
        caller: call.caller,
        taskId: request.id,
        reason: typeof reason === "string" ? reason.slice(0, 1000) : "",
      });
      const strict = agent.config.cancelOnTerminal === "error" && snapshot.state !== TaskState.CANCELED;
      if (!changed && strict) {
        throw new BatonError("TaskNotCancelable", "the task has already ended", {
          metadata: { taskId: request.id },
        });
      }
      return snapshot.task;
    },

    subscribeToTask: (request, call) =>
      new BegunStream(() => {
        requireStreaming(call);
        checkTaskId(request.id);
        return inPlace(call, (place) => attach(request, call, place));
      }),

    createTaskPushNotificationConfig: options.push.createTaskPushNotificationConfig,
    getTaskPushNotificationConfig: options.push.getTaskPushNotificationConfig,
    listTaskPushNotificationConfigs: options.push.listTaskPushNotificationConfigs,
    deleteTaskPushNotificationConfig: options.push.deleteTaskPushNotificationConfig,

    getExtendedAgentCard: (_request, call) => options.extendedCard(call),
  };
}

function requireStreaming(call: Call): void {
  if (!call.caller.capabilities.streaming) {
    throw new BatonError("UnsupportedOperation", "the endpoint may not open streams");
  }
}

function checkTaskId(id: string): void {
  if (id.trim() === "") throw invalidParams({ field: "id", description: "must not be blank" });
}

/** Everything that can be wrong with a send before anything is stored (A2A-2, A2A-90). */
/** The message of a request that may be sent. Throws Forbidden and what is wrong with it. */
export function checkSend(request: SendMessageRequest, call: Call, agent: ServedAgent): Message {
  if (!call.caller.verbs.has("create_for")) {
    throw new BatonError("Forbidden", "the endpoint may not send messages");
  }
  const message = checkClientMessage(request);
  if (agent.config.acceptInputModes === "card")
    checkMediaTypes(message.parts, acceptedInputModes(agent.config));
  return message;
}

/** How long a send may wait: the server's bound, or what the caller's deadline leaves (design.md section 7). */
function waitFor(request: SendMessageRequest, call: Call, maxWaitMs: number): number {
  if (request.configuration?.returnImmediately === true) return 0;
  const left = call.deadlineAt === undefined ? maxWaitMs : call.deadlineAt - Date.now() - DEADLINE_MARGIN_MS;
  return Math.max(0, Math.min(maxWaitMs, left));
}
