import type { Todo } from "../../gen/baton/worker/v1/worker_pb.js";
import type { HandlerResult } from "./content.ts";
import type { TodoContext } from "./context.ts";

/** Does one todo. Delivery is at least once, so it must bear being run twice for the same todo. */
export type Handler = (context: TodoContext) => Promise<HandlerResult> | HandlerResult;

/**
 * What became of a todo on this worker. `dropped`: the outcome no longer mattered, because the todo was canceled, ended
 * or passed to another worker.
 */
export type Outcome = "completed" | "failed" | "rejected" | "released" | "dropped";

export interface WorkerOptions {
  /** Address of the gateway, such as `http://127.0.0.1:7420`. `http` speaks HTTP/2 in cleartext, `https` over TLS. */
  readonly url: string;

  /** Bearer credential of an endpoint that may work on the queue (`baton endpoint create --work`). */
  readonly credential: string;

  /** Does one todo; see {@link TodoContext} for what it can do. */
  readonly handler: Handler;

  /**
   * Name of the agent that this worker is meant for. The credential alone decides; a todo of another agent is given
   * back and the worker stops with an error, which catches a mixed-up credential. Default: not checked.
   */
  readonly agent?: string;

  /** Queue to claim from. Default: the only queue that the credential is granted. */
  readonly queue?: string;

  /** How many todos are worked on at the same time. Default 1. */
  readonly concurrency?: number;

  /**
   * Lease, in seconds: how long after the last sign of life another worker may take over. It is renewed at a third, so
   * it bounds how long a crash goes unnoticed, not how long a handler may run. Default: the endpoint's, else the
   * gateway's (300 s). The gateway clamps it to 24 h.
   */
  readonly lease?: number;

  /** Name shown in the attempt history, at most 128 bytes; todos assigned to it come here. Default: host name and process id. */
  readonly claimant?: string;

  /**
   * Ask for a fence token per attempt: two workers that share one credential can then not act on each other's todos
   * (SB-13). Default true.
   */
  readonly fence?: boolean;

  /** How long {@link Worker.stop} lets running handlers finish before it aborts them, in seconds. Default 30. */
  readonly stopGrace?: number;

  /**
   * Told of every error that is not the handler's answer: the gateway away, an outcome that could not be delivered, what
   * `onOutcome` threw. What it throws itself becomes a warning of the process.
   */
  readonly onError?: (error: Error, todo?: Todo) => void;

  /**
   * Told of the outcome of every todo, after the gateway has it. `error` is what the handler threw; or the
   * {@link HandlerStopped} that made it stop, whatever came of that in the handler.
   */
  readonly onOutcome?: (outcome: Outcome, todo: Todo, error?: unknown) => void;
}

/** The options with their defaults filled in. */
export interface Settings extends WorkerOptions {
  readonly queue: string;
  readonly concurrency: number;
  readonly claimant: string;
  readonly fence: boolean;
  readonly stopGraceMs: number;
  readonly onError: (error: Error, todo?: Todo) => void;
  readonly onOutcome: (outcome: Outcome, todo: Todo, error?: unknown) => void;
}
