/**
 * What the scenario table needs from a transport. A driver puts one operation on the wire as a client of that transport
 * would, and brings the answer back as a 1.0 message or as a {@link WireError}. It holds no expectation about behaviour;
 * it knows only how its transport must show an error of each kind (a2a.md section 3).
 */
import type { DescMessage, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { A2AService, type StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { ErrorKind, FieldViolation } from "../../src/domain/errors.ts";

type Methods = (typeof A2AService)["method"];
type Named<Kind extends string> = {
  [K in keyof Methods]: Methods[K]["methodKind"] extends Kind ? Capitalize<K & string> : never;
}[keyof Methods];

/** RPC names that answer once, and those that answer a stream. */
export type UnaryOperation = Named<"unary">;
export type StreamOperation = Named<"server_streaming">;
export type Operation = UnaryOperation | StreamOperation;

export type Answer<O extends UnaryOperation> = MessageShape<Methods[Uncapitalize<O>]["output"] & DescMessage>;

/** A property that not every driver has; a scenario names those that it needs. */
export type Feature =
  /** Requests are JSON: wrong types and spellings can be sent. */
  | "json"
  /** Answers are JSON: which keys are present can be seen. */
  | "json-answer"
  /** Answers hold the members that A2A wants to see even at their default, which plain ProtoJSON leaves out (A2A-62). */
  | "a2a-json"
  /** Requests have a URL path that can name a tenant. */
  | "path-tenant"
  /** The operation has a GET form whose parameters are text. */
  | "query"
  /** An empty id can be said: it is a value, not a piece of a path. */
  | "empty-id"
  /** Errors say more than a code and a text: every wrong field, and metadata. */
  | "error-data"
  /** ListTasks exists (it is new in 1.0). */
  | "list"
  /** An absent version header is read as 1.0. */
  | "1.0-form";

export interface CallOptions {
  /** Bearer credential; null sends none. */
  readonly token: string | null;
  /** `A2A-Version`; null sends none. Default: the driver's version. */
  readonly version?: string | null;
  /** Tenant in the path, where the transport has one. */
  readonly pathTenant?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Query parameters, where the transport has a URL of its own for each call. */
  readonly query?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Milliseconds; sent as a deadline where the transport has such a thing. */
  readonly timeoutMs?: number;
}

export interface Reply<O extends UnaryOperation> {
  readonly message: Answer<O>;
  /** The answer as it was written, where the transport speaks JSON. */
  readonly json?: JsonValue;
  /** Response headers or leading metadata. */
  readonly headers: Headers;
}

/** An open stream whose first message has arrived. */
export interface OpenStream {
  /** The next message; undefined at a clean end. Throws {@link WireError} for any other end. */
  next(): Promise<StreamResponse | undefined>;
  /** The client goes away. */
  close(): void;
  readonly headers: Headers;
}

/** An error as a client of the transport sees it, with what is common to all of them picked out. */
export interface SeenError {
  readonly message: string;
  /** The transport's own numbers and names, for the driver's check and for failure messages. */
  readonly wire: {
    readonly http?: number;
    readonly jsonrpc?: number;
    readonly grpc?: number;
    readonly status?: string;
    readonly contentType?: string;
  };
  readonly reason?: string | undefined;
  readonly domain?: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly FieldViolation[];
  /** Types of the details in order, such as `google.rpc.ErrorInfo`. */
  readonly detailTypes: readonly string[];
  readonly headers: Headers;
}

export class WireError extends Error {
  override readonly name = "WireError";
  readonly seen: SeenError;

  constructor(seen: SeenError) {
    super(`${JSON.stringify(seen.wire)} ${seen.reason ?? ""} ${seen.message}`);
    this.seen = seen;
  }
}

/** Requests that no typed client can make. */
export type Malformed =
  /** A body that is not of the transport's encoding at all. */
  | "garbage"
  /** A method that does not exist. */
  | "unknown-method"
  /** A media type that the transport does not know. */
  | "content-type";

export interface Driver {
  /** `request` is ProtoJSON of the 1.0 request message; what it cannot parse is sent as it is where that is possible. */
  unary<O extends UnaryOperation>(operation: O, request: JsonObject, options: CallOptions): Promise<Reply<O>>;
  stream(operation: StreamOperation, request: JsonObject, options: CallOptions): Promise<OpenStream>;
  /** Sends what a client should not; resolves only if the server took it. */
  malformed(kind: Malformed, options: CallOptions): Promise<unknown>;
  /** Bytes of the request body (HTTP) or message (gRPC) that the limits count. */
  sizeOf(operation: Operation, request: JsonObject): number;
  /**
   * Checks that the error is what this transport must say for the kind: code, status, ErrorInfo. `bare`: the transport
   * itself refused, so there are no details to check.
   */
  checkError(seen: SeenError, kind: ErrorKind, options: { readonly bare: boolean }): void;
  close(): Promise<void>;
}

/** Where a driver connects to. */
export interface Target {
  /** Base URL of the gateway. */
  readonly url: string;
  /** `host:port`, for gRPC. */
  readonly authority: string;
  /** Options of a `@grpc/grpc-js` channel, laid over the driver's, which repeats no call. */
  readonly channel?: Readonly<Record<string, string | number>>;
}

/** A transport that the table runs on. */
export interface DriverKind {
  readonly name: string;
  /** The protocol version that its wire speaks; the table is written in 1.0. */
  readonly version: "1.0" | "0.3";
  readonly features: ReadonlySet<Feature>;
  connect(target: Target): Promise<Driver>;
}

export function methodOf(operation: Operation): Methods[keyof Methods] {
  const name = `${operation[0]?.toLowerCase()}${operation.slice(1)}` as keyof Methods;
  return A2AService.method[name];
}
