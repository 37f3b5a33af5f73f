/** What the workers of one gateway and their primary tell each other over IPC. */
import type { MetricsSnapshot } from "../../telemetry/metrics.ts";

/** What a worker is asked about itself. */
export interface WorkerAnswers {
  readonly readiness: readonly string[];
  readonly metrics: MetricsSnapshot | null;
}

export type Question = keyof WorkerAnswers;

/** The answer of one worker; `value` is null where it gave none in time. */
export interface SurveyAnswer {
  readonly worker: number;
  readonly value: WorkerAnswers[Question] | null;
}

export type ToWorker =
  | { readonly kind: "stop"; readonly graceMs: number }
  /** Answered at once, whatever else is going on. */
  | { readonly kind: "ping" }
  | { readonly kind: "ask"; readonly id: number; readonly question: Question }
  | { readonly kind: "survey"; readonly id: number; readonly answers: readonly SurveyAnswer[] };

export type ToPrimary =
  | ({ readonly kind: "ready" } & Addresses)
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "pong" }
  | { readonly kind: "survey"; readonly id: number; readonly question: Question }
  | { readonly kind: "answer"; readonly id: number; readonly value: WorkerAnswers[Question] };

/** Where all workers are reached. */
export interface Addresses {
  readonly url: string;
  readonly adminUrl: string;
  readonly consoleUrl?: string;
}

/** What a worker must know that its configuration does not say. */
export interface WorkerOrders {
  /** 1 to N; a worker that takes the place of another has its number. */
  readonly number: number;
  /** Bind the ports beside the other workers, and leave it to the system who gets a connection. */
  readonly reusePort: boolean;
  /** Ports that the first worker found free, where the configuration names none. */
  readonly ports?: { readonly main: number; readonly admin: number };
  /** Socket of the embedded Redis, where the primary owns one. */
  readonly embeddedSocket?: string;
}

/** The environment variable that carries {@link WorkerOrders} as JSON; it marks a process as a worker. */
export const ORDERS_VARIABLE = "INTERNAL_BATON_WORKER";

/** How long a worker may take to answer its siblings, in milliseconds. */
export const ANSWER_MS = 2500;
