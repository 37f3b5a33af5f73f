import type { TraceContext } from "../domain/trace-context.ts";
import type { LaneHead } from "../store/push-lanes.ts";
import type { Tracer } from "../telemetry/tracing/span.ts";
import type { AttemptOutcome } from "./outcome.ts";
import { pushParent } from "./request.ts";

export interface AttemptSpan {
  /** What the receiver goes on from. */
  readonly context: TraceContext;
  end(outcome: AttemptOutcome): void;
}

/**
 * The span of one POST, below the change that is pushed. It names the receiver by host and port only: a path may be a
 * secret.
 */
export function startAttemptSpan(
  tracer: Tracer | undefined,
  agent: string,
  head: LaneHead,
): AttemptSpan | undefined {
  if (tracer === undefined) return undefined;
  const { taskId, seq, attempts, config, trace } = head;
  const colon = config.host.lastIndexOf(":");
  const attributes = {
    "http.request.method": "POST",
    "server.address": config.host.slice(0, colon),
    "server.port": Number(config.host.slice(colon + 1)),
    "messaging.system": "baton",
    "messaging.operation.name": "push",
    "messaging.operation.type": "send",
    "messaging.message.id": `${taskId}/${seq}`,
    "baton.agent": agent,
    ...(attempts === 0 ? {} : { "http.request.resend_count": attempts }),
  };
  const links = trace?.cause === undefined ? [] : [trace.cause];
  const span = tracer.start("POST push", { kind: "client", attributes, links }, pushParent(head));
  return {
    context: span.context,
    end(outcome) {
      const status = "status" in outcome ? outcome.status : undefined;
      if (status !== undefined) span.set({ "http.response.status_code": status });
      if (outcome.kind === "delivered") span.end();
      else span.end(outcome.kind === "failed" ? outcome.reason : outcome.kind);
    },
  };
}
