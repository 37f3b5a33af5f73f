/**
 * The one error vocabulary of Baton. Handlers and stores throw {@link BatonError}; each transport prints it from
 * {@link errorRow}, so a failure has the same meaning on every binding (a2a.md section 3, A2A-152).
 */

/** gRPC status codes by name (google.rpc.Code). */
export const GRPC_CODE = {
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

export type GrpcCodeName = keyof typeof GRPC_CODE;

/** How one kind of error looks on each binding. */
export interface ErrorRow {
  /** JSON-RPC `error.code`. */
  readonly jsonrpc: number;
  /** gRPC status. */
  readonly grpc: GrpcCodeName;
  /** HTTP status on the HTTP+JSON binding. */
  readonly http: number;
  /**
   * HTTP status on JSON-RPC. 200 for every well-formed exchange (A2A-134); others only for refusals of the
   * transport itself.
   */
  readonly jsonrpcHttp: number;
  /** `ErrorInfo.reason`; absent where the protocol defines none. */
  readonly reason?: string;
  /** `ErrorInfo.domain`: the protocol's own for its nine errors and those of JSON-RPC, ours for the rest. */
  readonly domain: string;
}

const A2A = "a2a-protocol.org";
const BATON = "baton";

function a2a(jsonrpc: number, reason: string, grpc: GrpcCodeName, http: number): ErrorRow {
  return { jsonrpc, reason, grpc, http, jsonrpcHttp: 200, domain: A2A };
}

/** An error of JSON-RPC itself. The official SDKs write and read its reason in the protocol's domain (A2A-159). */
function standard(jsonrpc: number, reason: string, grpc: GrpcCodeName, http: number): ErrorRow {
  return { jsonrpc, reason, grpc, http, jsonrpcHttp: 200, domain: A2A };
}

function frame(
  jsonrpc: number,
  reason: string,
  grpc: GrpcCodeName,
  http: number,
  jsonrpcHttp = 200,
): ErrorRow {
  return { jsonrpc, reason, grpc, http, jsonrpcHttp, domain: BATON };
}

const TABLE = {
  TaskNotFound: a2a(-32001, "TASK_NOT_FOUND", "NOT_FOUND", 404),
  TaskNotCancelable: a2a(-32002, "TASK_NOT_CANCELABLE", "FAILED_PRECONDITION", 400),
  PushNotificationNotSupported: a2a(-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", "FAILED_PRECONDITION", 400),
  UnsupportedOperation: a2a(-32004, "UNSUPPORTED_OPERATION", "FAILED_PRECONDITION", 400),
  ContentTypeNotSupported: a2a(-32005, "CONTENT_TYPE_NOT_SUPPORTED", "INVALID_ARGUMENT", 400),
  InvalidAgentResponse: a2a(-32006, "INVALID_AGENT_RESPONSE", "INTERNAL", 500),
  ExtendedAgentCardNotConfigured: a2a(
    -32007,
    "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    "FAILED_PRECONDITION",
    400,
  ),
  ExtensionSupportRequired: a2a(-32008, "EXTENSION_SUPPORT_REQUIRED", "FAILED_PRECONDITION", 400),
  VersionNotSupported: a2a(-32009, "VERSION_NOT_SUPPORTED", "FAILED_PRECONDITION", 400),

  ParseError: standard(-32700, "PARSE_ERROR", "INVALID_ARGUMENT", 400),
  InvalidRequest: standard(-32600, "INVALID_REQUEST", "INVALID_ARGUMENT", 400),
  /** No message, or several, where a method takes one: gRPC calls that UNIMPLEMENTED. */
  MessageCount: standard(-32600, "INVALID_REQUEST", "UNIMPLEMENTED", 400),
  /** A compressed message without a word of how it is compressed: gRPC calls that INTERNAL. */
  UnnamedCompression: standard(-32600, "INVALID_REQUEST", "INTERNAL", 400),
  /** UNIMPLEMENTED, so that a client may choose another (gRPC compression rules). */
  UnknownCompression: standard(-32600, "INVALID_REQUEST", "UNIMPLEMENTED", 415),
  MethodNotFound: standard(-32601, "METHOD_NOT_FOUND", "UNIMPLEMENTED", 404),
  /** A path, agent or route that does not exist, refused before any method is known. */
  RouteNotFound: frame(-32601, "ROUTE_NOT_FOUND", "UNIMPLEMENTED", 404, 404),
  MethodNotAllowed: frame(-32600, "METHOD_NOT_ALLOWED", "UNIMPLEMENTED", 405, 405),
  InvalidParams: standard(-32602, "INVALID_PARAMS", "INVALID_ARGUMENT", 400),
  Internal: standard(-32603, "INTERNAL_ERROR", "INTERNAL", 500),

  Unauthenticated: frame(-31401, "UNAUTHENTICATED", "UNAUTHENTICATED", 401, 401),
  Forbidden: frame(-31403, "FORBIDDEN", "PERMISSION_DENIED", 403, 403),
  RateLimited: frame(-32000, "RATE_LIMITED", "RESOURCE_EXHAUSTED", 429, 429),
  PayloadTooLarge: frame(-32600, "PAYLOAD_TOO_LARGE", "RESOURCE_EXHAUSTED", 413, 413),
  /** The task holds as much as it may (`limits.taskBytes`). No retry helps; it can still be ended. */
  TaskTooLarge: frame(-32004, "TASK_TOO_LARGE", "RESOURCE_EXHAUSTED", 413),
  Unavailable: frame(-32603, "UNAVAILABLE", "UNAVAILABLE", 503, 503),
  DeadlineExceeded: frame(-32603, "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", 504, 504),
  Canceled: frame(-32603, "CANCELED", "CANCELLED", 499, 499),
  /** A stream that was cut by the server; the client may subscribe again (A2A-83, A2A-95). */
  StreamInterrupted: frame(-32603, "STREAM_INTERRUPTED", "UNAVAILABLE", 503),

  /** Worker and admin services: the todo, endpoint or other record does not exist within the caller's scope. */
  NotFound: frame(-32001, "NOT_FOUND", "NOT_FOUND", 404),
  /** Worker and admin services: the record's state, holder or fence does not permit this now (SB-9, SB-13). */
  Conflict: frame(-32004, "CONFLICT", "ABORTED", 409),
  AlreadyExists: frame(-32004, "ALREADY_EXISTS", "ALREADY_EXISTS", 409),
} as const satisfies Record<string, ErrorRow>;

export type ErrorKind = keyof typeof TABLE;

/** Which edition of the protocol's error table an agent answers with (A2A-158). */
export type ErrorTable = "1.0.1" | "1.0.0";

const EDITION_1_0_0: Partial<Record<ErrorKind, Partial<ErrorRow>>> = {
  TaskNotCancelable: { http: 409 },
  PushNotificationNotSupported: { grpc: "UNIMPLEMENTED" },
  UnsupportedOperation: { grpc: "UNIMPLEMENTED" },
  ContentTypeNotSupported: { http: 415 },
  InvalidAgentResponse: { http: 502 },
  VersionNotSupported: { grpc: "UNIMPLEMENTED" },
};

/** The row of a kind in the given edition; 1.0.1 unless the agent says otherwise. */
export function errorRow(kind: ErrorKind, edition: ErrorTable = "1.0.1"): ErrorRow {
  const row: ErrorRow = TABLE[kind];
  if (edition === "1.0.1") return row;
  return { ...row, ...EDITION_1_0_0[kind] };
}

/** One invalid field of a request; `field` is the proto path in camelCase, such as `message.parts`. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

export interface BatonErrorOptions {
  readonly violations?: readonly FieldViolation[];
  /** `ErrorInfo.metadata`: strings only, never a secret. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** How long to wait before trying again, in milliseconds; becomes Retry-After and RetryInfo (A2A-15). */
  readonly retryAfterMs?: number;
  /** What really went wrong; logged, never sent (A2A-160). */
  readonly cause?: unknown;
}

/** The only error that leaves a handler. `message` is shown to the caller. */
export class BatonError extends Error {
  override readonly name = "BatonError";
  readonly kind: ErrorKind;
  readonly violations: readonly FieldViolation[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;

  constructor(kind: ErrorKind, message: string, options: BatonErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.violations = options.violations ?? [];
    this.metadata = options.metadata ?? {};
    this.retryAfterMs = options.retryAfterMs;
  }

  /**
   * Turns anything thrown into a BatonError: one of ours is returned as it is; an abort becomes Canceled; everything
   * else is Internal, with a fixed message, since the text of a foreign error may hold internals (A2A-160).
   */
  static from(thrown: unknown): BatonError {
    if (thrown instanceof BatonError) return thrown;
    if (thrown instanceof Error && thrown.name === "AbortError") {
      return new BatonError("Canceled", "the call was canceled", { cause: thrown });
    }
    return new BatonError("Internal", "internal error", { cause: thrown });
  }
}

/** InvalidParams that names its fields (A2A-2, A2A-156). */
export function invalidParams(...violations: readonly FieldViolation[]): BatonError {
  const first = violations[0];
  const message = first === undefined ? "invalid parameters" : `${first.field}: ${first.description}`;
  return new BatonError("InvalidParams", message, { violations });
}

/**
 * The one answer for a task that does not exist and for one that the caller may not see (A2A-10). The id echoes what
 * the caller sent, so the two differ in nothing else.
 */
export function taskNotFound(taskId: string): BatonError {
  return new BatonError("TaskNotFound", "task not found", { metadata: { taskId } });
}

/**
 * The one answer to every call about push configs of what is not there for the caller, be it the task or the config. It
 * echoes no id: a caller that asks by two ids must get the same for each (OW-54).
 */
export function pushConfigNotFound(): BatonError {
  return new BatonError("TaskNotFound", "task not found");
}
