import { BatonError } from "../../domain/errors.ts";
import { traceContextOf } from "../../domain/trace-context.ts";
import type { Call } from "../../service/call.ts";
import { runInSpan } from "../../telemetry/tracing/active.ts";
import { endServerSpan, startServerSpan } from "../../telemetry/tracing/server-span.ts";
import type { Tracer } from "../../telemetry/tracing/span.ts";

/**
 * Runs a tool call, with a tracer as a span. It is below the context that the request names in `_meta`, as MCP carries it,
 * else below that of the HTTP request: one session has many calls.
 */
export async function tracedTool<T>(
  tracer: Tracer | undefined,
  tool: string,
  meta: unknown,
  call: Call,
  work: (call: Call) => Promise<T>,
): Promise<T> {
  const named = metaContext(meta);
  const parent = named ?? call.trace;
  const below = parent === undefined ? call : { ...call, trace: parent };
  if (tracer === undefined) return work(below);
  const span = startServerSpan(tracer, { method: `tools/call ${tool}`, transport: "mcp" }, parent);
  span.set({ "mcp.method.name": "tools/call", "gen_ai.tool.name": tool });
  try {
    const result = await runInSpan(span, () => work({ ...call, trace: span.context }));
    endServerSpan(span, "ok", { "baton.agent": call.agent });
    return result;
  } catch (thrown) {
    endServerSpan(span, BatonError.from(thrown).kind, { "baton.agent": call.agent });
    throw thrown;
  }
}

function metaContext(meta: unknown) {
  const { traceparent, tracestate } = (meta ?? {}) as { traceparent?: unknown; tracestate?: unknown };
  if (typeof traceparent !== "string") return undefined;
  return traceContextOf(traceparent, typeof tracestate === "string" ? tracestate : undefined);
}
