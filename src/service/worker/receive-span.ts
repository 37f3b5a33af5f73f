import type { TraceContext } from "../../domain/trace-context.ts";
import type { TodoRecord } from "../../store/todo-records.ts";
import { activeSpan } from "../../telemetry/tracing/active.ts";

/**
 * What a worker goes on from: the receipt of the todo, as a span below the call that created it and linked to the claim. A
 * claim is one long poll after another and belongs to no message. Without tracing it is what was stored.
 */
export function receivedTrace(agent: string, todo: TodoRecord): TraceContext | undefined {
  const claim = activeSpan();
  if (claim === undefined) return todo.trace;
  const attributes = {
    "messaging.system": "baton",
    "messaging.operation.name": "claim",
    "messaging.operation.type": "receive",
    "messaging.destination.name": todo.queue,
    "messaging.message.id": todo.id,
    "baton.agent": agent,
    "baton.attempt": todo.attempt,
  };
  const links = claim.sampled && todo.trace !== undefined ? [claim.context] : [];
  const span = claim.start(`receive ${todo.queue}`, { kind: "consumer", attributes, links }, todo.trace);
  span.end();
  return span.context;
}
