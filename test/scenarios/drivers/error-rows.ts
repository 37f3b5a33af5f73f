/**
 * How each error must look, written out from the protocol (a2a.md section 3) and not read from the product: a wrong
 * number there must be seen here.
 */
import type { ErrorKind, ErrorRow } from "../../../src/domain/errors.ts";

type Columns = readonly [
  jsonrpc: number,
  reason: string,
  grpc: ErrorRow["grpc"],
  http: number,
  /** HTTP status on JSON-RPC, where the transport itself refuses. */
  jsonrpcHttp?: number,
];

const A2A: Partial<Record<ErrorKind, Columns>> = {
  TaskNotFound: [-32001, "TASK_NOT_FOUND", "NOT_FOUND", 404],
  TaskNotCancelable: [-32002, "TASK_NOT_CANCELABLE", "FAILED_PRECONDITION", 400],
  PushNotificationNotSupported: [-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", "FAILED_PRECONDITION", 400],
  UnsupportedOperation: [-32004, "UNSUPPORTED_OPERATION", "FAILED_PRECONDITION", 400],
  ContentTypeNotSupported: [-32005, "CONTENT_TYPE_NOT_SUPPORTED", "INVALID_ARGUMENT", 400],
  InvalidAgentResponse: [-32006, "INVALID_AGENT_RESPONSE", "INTERNAL", 500],
  ExtendedAgentCardNotConfigured: [-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "FAILED_PRECONDITION", 400],
  ExtensionSupportRequired: [-32008, "EXTENSION_SUPPORT_REQUIRED", "FAILED_PRECONDITION", 400],
  VersionNotSupported: [-32009, "VERSION_NOT_SUPPORTED", "FAILED_PRECONDITION", 400],
  // Those of JSON-RPC: the official SDKs write them in the same domain, and read them there only.
  ParseError: [-32700, "PARSE_ERROR", "INVALID_ARGUMENT", 400],
  InvalidRequest: [-32600, "INVALID_REQUEST", "INVALID_ARGUMENT", 400],
  MethodNotFound: [-32601, "METHOD_NOT_FOUND", "UNIMPLEMENTED", 404],
  InvalidParams: [-32602, "INVALID_PARAMS", "INVALID_ARGUMENT", 400],
};

const OURS: Partial<Record<ErrorKind, Columns>> = {
  RouteNotFound: [-32601, "ROUTE_NOT_FOUND", "UNIMPLEMENTED", 404, 404],
  Unauthenticated: [-31401, "UNAUTHENTICATED", "UNAUTHENTICATED", 401, 401],
  Forbidden: [-31403, "FORBIDDEN", "PERMISSION_DENIED", 403, 403],
  RateLimited: [-32000, "RATE_LIMITED", "RESOURCE_EXHAUSTED", 429, 429],
  PayloadTooLarge: [-32600, "PAYLOAD_TOO_LARGE", "RESOURCE_EXHAUSTED", 413, 413],
};

/** The row of a kind that a scenario expects. */
export function expectedRow(kind: ErrorKind): Required<ErrorRow> {
  const columns = A2A[kind] ?? OURS[kind];
  if (columns === undefined) throw new Error(`no scenario should expect ${kind}: write its row first`);
  const [jsonrpc, reason, grpc, http, jsonrpcHttp = 200] = columns;
  return { jsonrpc, reason, grpc, http, jsonrpcHttp, domain: kind in A2A ? "a2a-protocol.org" : "baton" };
}
