import { type CallOptions, type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import type { TraceHeaders } from "./trace.ts";

/** A gateway that stops answering pings is given up after this and connected to anew, in milliseconds. */
const PING_INTERVAL_MS = 15_000;
const PING_TIMEOUT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** Longest wait for the answer of one ordinary call, in milliseconds. */
export const CALL_TIMEOUT_MS = 15_000;

export interface WorkerClient {
  readonly calls: Client<typeof WorkerService>;
  /** Ends the connection and every call on it. */
  close(): void;
}

/** A gRPC client of the worker service that sends the credential with every call. */
export function connectWorker(url: string, credential: string): WorkerClient {
  const sessionManager = new Http2SessionManager(url, {
    pingIntervalMs: PING_INTERVAL_MS,
    pingTimeoutMs: PING_TIMEOUT_MS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
  });
  const authorize: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${credential}`);
    return next(request);
  };
  const transport = createGrpcTransport({ baseUrl: url, sessionManager, interceptors: [authorize] });
  return { calls: createClient(WorkerService, transport), close: () => sessionManager.abort() };
}

/** Options of an ordinary call that `signal` may end. */
export function callOptions(signal: AbortSignal, headers: TraceHeaders): CallOptions {
  return { signal, timeoutMs: CALL_TIMEOUT_MS, headers };
}
