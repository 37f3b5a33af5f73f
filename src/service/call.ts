/**
 * The contract between transports and handlers. A handler is a plain function of a generated request message and a
 * {@link Call}; it knows no transport, and a transport knows no handler: both meet in the Dispatcher.
 */
import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageShape,
} from "@bufbuild/protobuf";
import type { Caller } from "../domain/caller.ts";
import type { TraceContext } from "../domain/trace-context.ts";

export type TransportName = "grpc" | "grpc-web" | "connect" | "jsonrpc" | "rest" | "mcp";

/** The A2A version whose semantics and shapes a call is served with. */
export type ProtocolVersion = "1.0" | "0.3";

/** What a transport knows of a request before its body is parsed. Header names are looked up in lower case. */
export interface RequestMeta {
  readonly transport: TransportName;
  /** The version that the shape of the request implies: its path, method name or gRPC package. */
  readonly form: ProtocolVersion;
  header(name: string): string | undefined;
  /** A query parameter; only `A2A-Version` is read from here (A2A-18). */
  query?(name: string): string | undefined;
  /** The agent named by the path; absent when the path names none. */
  readonly pathTenant?: string;
  /** The peer's address, for limits before authentication. */
  readonly remoteAddress: string;
  /** Aborted when the client goes away or its deadline passes. */
  readonly signal: AbortSignal;
  /** The client's deadline in milliseconds since the epoch; absent: none. */
  readonly deadlineAt?: number;
  /** Template of the path, where the transport has them. */
  readonly route?: string;
  /** Chosen by the transport, so that answers to requests that reach no handler carry it too; absent: made on dispatch. */
  readonly requestId?: string;
}

/** One authenticated call, as a handler sees it. */
export interface Call {
  readonly caller: Caller;
  /** The agent that serves the call: the tenant of the request, else the caller's own. */
  readonly agent: string;
  readonly version: ProtocolVersion;
  readonly transport: TransportName;
  /** URIs of the active extensions: those that the client declared and the agent has (A2A-24, A2A-25). */
  readonly extensions: readonly string[];
  readonly signal: AbortSignal;
  readonly deadlineAt?: number;
  /** Correlates the answer, the logs and the trace; sent as `x-request-id`. */
  readonly requestId: string;
  /** What goes on from here is below this: our span of the call where it is traced, else what the request named. */
  readonly trace?: TraceContext;
  /** The client's position in the task log, for a resumed stream; absent: from now. */
  readonly lastEventId?: string;
  /** Headers (HTTP) or leading metadata (gRPC) of the answer. Set before the first message of a stream. */
  readonly responseHeaders: ResponseHeaders;
}

/** By name in lower case. A map, since a `Headers` costs more than the rest of a dispatch. */
export type ResponseHeaders = Map<string, string>;

/** One message of a stream. */
export interface StreamItem<T> {
  readonly message: T;
  /** Position in the task log; SSE prints it as `id:` (A2A-141). */
  readonly id?: string;
}

export type UnaryHandler<M extends DescMethodUnary> = (
  request: MessageShape<M["input"]>,
  call: Call,
) => Promise<MessageShape<M["output"]>>;

/** Errors thrown before the first item are ordinary errors of the call (A2A-80). */
export type StreamHandler<M extends DescMethodServerStreaming> = (
  request: MessageShape<M["input"]>,
  call: Call,
) => AsyncIterable<StreamItem<MessageShape<M["output"]>>>;

/** An implementation of every method of a service. */
export type Handlers<S extends DescService> = {
  [K in keyof S["method"]]: S["method"][K] extends DescMethodUnary
    ? UnaryHandler<S["method"][K]>
    : S["method"][K] extends DescMethodServerStreaming
      ? StreamHandler<S["method"][K]>
      : never;
};
