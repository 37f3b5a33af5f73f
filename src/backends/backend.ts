import type { Message, SendMessageRequest } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentConfig } from "../config/schema.ts";
import type { Caller } from "../domain/caller.ts";
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
}

/** A message to a task that exists. */
export interface ReplyInput {
  readonly agent: Agent;
  readonly caller: Caller;
  readonly taskId: string;
  readonly message: Message;
  readonly request: SendMessageRequest;
  readonly historyLength: number;
}

export interface CancelInput {
  readonly agent: Agent;
  readonly caller: Caller;
  readonly taskId: string;
  /** Free text for the worker and the audit; empty for none. */
  readonly reason: string;
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
}
