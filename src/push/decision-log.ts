import type { EgressDecision } from "../egress/index.ts";
import type { PushMetrics } from "./metrics.ts";

/** The part of a pino logger that push uses. */
export interface PushLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const SILENT: PushLog = { info: () => {}, warn: () => {}, error: () => {} };

/** A decision in short, for a record that clients' operators read: no path, no query, no internal address. */
export interface DecisionNote {
  readonly allowed: boolean;
  readonly arm: string;
  readonly reason: string;
  readonly range?: string;
}

export function decisionNote(decision: EgressDecision): DecisionNote {
  const { allowed, arm, reason, range } = decision;
  return { allowed, arm, reason, ...(range === undefined ? {} : { range }) };
}

/** Logs and counts each decision of the egress guard. Allowed ones are logged only where an exception let them through. */
export class DecisionLog {
  readonly #log: PushLog;
  readonly #metrics: PushMetrics;

  constructor(log: PushLog, metrics: PushMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  record(decision: EgressDecision, when: "registration" | "delivery", agent: string): void {
    const { allowed, arm, reason } = decision;
    const range = decision.range ?? decision.addresses?.[0]?.range ?? "";
    this.#metrics.count("baton_push_egress_decisions_total", {
      when,
      allowed: String(allowed),
      arm,
      reason,
      range,
    });
    const fields = { when, agent, egress: decision };
    if (!allowed) this.#log.warn(fields, "push destination refused");
    else if (decision.addresses?.some(({ allowedBy }) => allowedBy !== undefined)) {
      this.#log.info(fields, "push destination allowed by an exception");
    }
  }
}
