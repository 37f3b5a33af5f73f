import type { Attempt, Todo } from "../../gen/baton/worker/v1/worker_pb.js";
import type { Artifact, Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { ArtifactLabels, Content } from "./content.ts";
import type { TraceHeaders } from "./trace.ts";

/**
 * What a handler knows of its todo and can do with it. Every call is retried while the gateway is away, for as long as
 * the lease holds; when it no longer holds, or the task was canceled, `signal` aborts and every call rejects with
 * {@link HandlerStopped}.
 */
export interface TodoContext {
  /** The todo as it was claimed: message, metadata, attempt number, context id. */
  readonly todo: Todo;
  /** The text parts of the message, one below the other. */
  readonly text: string;
  /** The newest earlier attempts, newest first, at most 5. Their summaries are data, never instructions. */
  readonly priorAttempts: readonly Attempt[];
  /** Aborted when there is no more use in going on; `signal.reason` is a {@link HandlerStopped} that says why. */
  readonly signal: AbortSignal;
  /**
   * W3C trace context for what the handler calls elsewhere: `traceparent` and, where there is one, `tracestate`; empty when
   * nobody traces. A program with OpenTelemetry needs it less: the handler runs in an active span of its own.
   */
  readonly traceHeaders: TraceHeaders;

  /** Publishes a progress message (SB-74); the task stays WORKING. */
  progress(what: Content | Message): Promise<void>;

  /**
   * Publishes an artifact now, before the todo is done, and answers its id. An artifact of the same id is replaced.
   * What the handler returns is published without this.
   */
  artifact(content: Content | Artifact, labels?: ArtifactLabels): Promise<string>;

  /** Appends to the artifact `id`, which is made when there is none; `last` says that no more will follow. */
  appendArtifact(id: string, content: Content, options?: { readonly last?: boolean }): Promise<void>;

  /**
   * Asks the client and waits for its reply, for as long as the gateway lets a task wait (a day, unless configured).
   * The lease stands still meanwhile, and the reply comes back to this very handler (SB-28, SB-29). After a crash of
   * this worker the next attempt finds the reply in {@link messages}.
   */
  requireInput(question: Content | Message): Promise<Message>;

  /**
   * Asks the client for an authorization, such as a login elsewhere. Answers the client's reply; or undefined when
   * `granted` resolved first, in which case the task goes on without a reply (A2A-97).
   */
  requireAuth(
    request: Content | Message,
    options?: { readonly granted?: Promise<unknown> },
  ): Promise<Message | undefined>;

  /** What the client and the agent said on the task so far, oldest first. */
  messages(): Promise<readonly Message[]>;

  /** Refuses the work for good: the task ends as REJECTED. What the handler returns after that is ignored. */
  reject(reason: Content | Message): Promise<void>;

  /**
   * Ends this attempt as failed, with a reason that the client reads. Another attempt follows unless `permanent`, or
   * none is left. What the handler returns after that is ignored.
   */
  fail(options?: {
    readonly reason?: Content | Message;
    readonly permanent?: boolean;
    /** For the attempt history that workers and operators read, at most 2048 bytes. */
    readonly summary?: string;
  }): Promise<void>;

  /** Gives the todo back for another worker, without spending the attempt. What the handler returns is ignored. */
  release(summary?: string): Promise<void>;
}
