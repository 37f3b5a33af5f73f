import type { Message, SendMessageRequest } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentConfig } from "../config/schema.ts";
import type { Caller } from "../domain/caller.ts";
import type { TraceContext } from "../domain/trace-context.ts";
import type { PushRegistration } from "../store/push-configs.ts";
import type { TaskSnapshot } from "../store/tasks.ts";

/** One agent as the service knows it. */
export interface Agent {
  readonly name: string;
  readonly config: AgentConfig;
}

/** A message that starts a task. The id is made by the service, which already listens for its events. */
export interface StartInput {
  readonly agent: Agent;
  readonly caller: Caller;
  readonly taskId: string;
  readonly contextId: string;
  readonly message: Message;
  readonly request: SendMessageRequest;
  readonly historyLength: number;
  /** Checked push config, to be stored in the same unit as the task's first event (A2A-40); absent: none. */
  readonly push?: PushRegistration;
  /** What the work goes on from, in a trace; absent: nothing. */
  readonly trace?: TraceContext;
}

/** A message to a task that exists. */
export interface ReplyInput {
  readonly agent: Agent;
  readonly caller: Caller;
  readonly taskId: string;
  readonly message: Message;
  readonly request: SendMessageRequest;
  readonly historyLength: number;
  /** As in {@link StartInput}. */
  readonly push?: PushRegistration;
}

export interface CancelInput {
  readonly agent: Agent;
  readonly caller: Caller;
  readonly taskId: string;
  /** Free text for the worker and the audit; empty for none. */
  readonly reason: string;
}

/** A read of a task that is about to happen. */
export interface RefreshInput {
  readonly agent: Agent;
  readonly caller: Caller;
  readonly taskId: string;
}

/**
 * What does an agent's work. All three are atomic and answer the task as it then stands; they throw BatonError for what
 * the caller did wrong.
 */
export interface Backend {
  /** Starts a task, or finds the one that the same message started before: then its id is another (A2A-44). */
  start(input: StartInput): Promise<TaskSnapshot>;
  /** Adds a message; a task that waits for its client goes on (A2A-45). */
  reply(input: ReplyInput): Promise<TaskSnapshot>;
  /** Cancels; `changed` is false where the task had already ended. */
  cancel(input: CancelInput): Promise<{ readonly snapshot: TaskSnapshot; readonly changed: boolean }>;
  /** Brings a task that mirrors another system's work up to date before it is read; absent where the store is the truth. */
  refresh?(input: RefreshInput): Promise<void>;
  /** Longest wait of a blocking send, where it is less than the gateway's own, in milliseconds. */
  readonly maxWaitMs?: number;
}
