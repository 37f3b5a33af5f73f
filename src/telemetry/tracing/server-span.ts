import { errorRow, GRPC_CODE } from "../../domain/errors.ts";
import type { TraceContext } from "../../domain/trace-context.ts";
import type { Outcome } from "../calls.ts";
import type { SpanAttributes, Tracer, TraceSpan } from "./span.ts";

/** What a call's span says from the start. */
export interface ServedCall {
  /** `package.Service/Method`. */
  readonly method: string;
  readonly transport: string;
  /** Template of the path, on the transport that has them. */
  readonly route?: string | undefined;
}

/** RPC systems in the words of the semantic conventions; the plain HTTP binding is none of them. */
const SYSTEMS: Readonly<Record<string, string>> = {
  grpc: "grpc",
  "grpc-web": "grpc",
  connect: "connectrpc",
  jsonrpc: "jsonrpc",
  mcp: "jsonrpc",
};

/** Codes that say that the server is at fault (semantic conventions for gRPC); the others are the caller's. */
const SERVER_FAULTS: ReadonlySet<string> = new Set([
  "UNKNOWN",
  "DEADLINE_EXCEEDED",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
]);

/** Begins the span of a call, below its caller's where it named one. */
export function startServerSpan(
  tracer: Tracer,
  call: ServedCall,
  parent: TraceContext | undefined,
): TraceSpan {
  const { method, transport, route } = call;
  const system = SYSTEMS[transport];
  const attributes: SpanAttributes = {
    "rpc.method": method,
    "rpc.service": method.slice(0, Math.max(0, method.lastIndexOf("/"))),
    "baton.transport": transport,
    ...(system === undefined ? {} : { "rpc.system.name": system, "rpc.system": system }),
    ...(route === undefined ? {} : { "http.route": route }),
  };
  return tracer.start(method, { kind: "server", attributes }, parent);
}

/** Ends it with what came of the call. */
export function endServerSpan(span: TraceSpan, outcome: Outcome, more: SpanAttributes = {}): void {
  const code = outcome === "ok" ? undefined : errorRow(outcome).grpc;
  span.set({
    ...more,
    "rpc.status_code": code ?? "OK",
    "rpc.grpc.status_code": code === undefined ? 0 : GRPC_CODE[code],
  });
  span.end(code !== undefined && SERVER_FAULTS.has(code) ? outcome : undefined);
}
